import { expect, test } from 'vitest';
import { kubeConfigFile, runLine } from '../testing/run.test-fixtures.ts';

const LIST = { items: [], metadata: {} };
const SERVED = { resources: ['validatingadmissionpolicies', 'mutatingadmissionpolicies'].map((name) => ({ name })) };
/** An API server of a cluster with one node, that allows everything. */
const CLUSTER = {
  '/version': { gitVersion: 'v1.36.0\u0007', major: '1', minor: '36' },
  '/apis/admissionregistration.k8s.io/v1': SERVED,
  '/api/v1/nodes': { items: [{ metadata: { name: 'node-1' } }], metadata: {} },
  '/apis/apps/v1/deployments': LIST,
  '/apis/apps/v1/daemonsets': LIST,
  '/api/v1/pods': LIST,
  '/api/v1/namespaces/rollcall/pods': LIST,
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews': {},
  'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews': { status: { allowed: true } },
};

const check = async (flags: readonly string[], cluster: object = CLUSTER) =>
  runLine(['check', ...flags, `--kubeconfig=${await kubeConfigFile({ ...cluster })}`]);

test('check --pre exits with 0 where rollcall can be installed, and with 1 where not', async () => {
  const well = await check(['--pre']);
  expect(well.text).toMatch(/^You can install rollcall\.\n\nok {4}API server v1\.36\.0\\u\{7\}: /);
  expect(well.exitCode).toBe(0);
  const post = 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  expect((await check(['--pre'], { ...CLUSTER, [post]: { status: {} } })).exitCode).toBe(1);
});

test('check is of an installation, where --pre is not given', async () => {
  const { text, exitCode } = await check(['-n', 'elsewhere']);
  expect(text).toContain('There is no Deployment elsewhere/rollcall-coordinator');
  expect(exitCode).toBe(1);
});

test('check prints a document where one is asked for', async () => {
  const { text, exitCode } = await check(['--pre', '-o', 'json']);
  expect(JSON.parse(text)).toMatchObject({ isWell: true, answer: 'You can install rollcall.', findings: [] });
  expect(exitCode).toBe(0);
});

test('check refuses the address of a console, which it does not ask', async () => {
  await expect(check(['--console-url=http://127.0.0.1:1'])).rejects.toMatchObject({
    message: 'check reads the API server only, and not a console',
    cure: expect.stringContaining('leave out --console-url'),
    exitCode: 2,
  });
});
