import { expect, test } from 'vitest';
import { loadConfig } from './config.ts';

const HEAD = 'apiVersion: rollcall.dev/v1alpha1\nkind: AgentConfiguration\n';
const TIMING = { periodMs: 1000, timeoutMs: 1000, failureThreshold: 3, successThreshold: 1 };

/** `POD_NAMESPACE`, so that the file of the service account is not looked for. */
function load(argv: string[], file = '') {
  const env = { POD_NAMESPACE: 'rollcall' };
  return loadConfig({ argv: ['--node-name=n', '--config=/c', ...argv], env, readFile: () => `${HEAD}${file}` });
}

async function services(argv: string[] = []) {
  const loaded = await load(argv);
  return loaded.action === 'run' ? loaded.values.watchedServices : [];
}

test('the services of Gitpod are as the flags say', async () => {
  const registryFacade = { name: 'registry-facade', port: 31750, spec: { kind: 'https', statuses: ['404'] } };
  expect(await services()).toMatchObject([
    { name: 'ws-daemon', port: 8080, spec: { kind: 'tcp' }, ...TIMING },
    { ...registryFacade, ...TIMING },
  ]);
  const argv = ['--ws-daemon-port=1', '--ws-daemon-probe=tls', '--registry-facade-ca-file=/ca'];
  const timing = { periodMs: 500, timeoutMs: 30, failureThreshold: 7, successThreshold: 5 };
  argv.push('--probe-period-ms=500', '--probe-timeout-ms=30', '--failure-threshold=7', '--success-threshold=5');
  expect(await services(argv)).toMatchObject([
    { name: 'ws-daemon', port: 1, spec: { kind: 'tls' }, ...timing },
    { ...registryFacade, caFile: '/ca', ...timing },
  ]);
});

test('a list of further services is refused with what to do instead', async () => {
  await expect(load([], 'services:\n- {name: cache, port: 9000}\n')).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/^\/c: services: .*NodeService/),
  });
});
