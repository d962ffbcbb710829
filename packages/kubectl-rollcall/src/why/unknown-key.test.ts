import { keyDocument, nodeDocument } from '@rollcall/common/console.test-fixtures.ts';
import { expect, test } from 'vitest';
import { kubeStandIn, Status } from '../testing/stand-in.test-fixtures.ts';
import { missingCrds, unknownKey } from './unknown-key.ts';

const OURS = '/apis/rollcall.dev/v1alpha1';
const resources = (...names: string[]) => ({ resources: names.map((name) => ({ name })) });

test('a CRD is missing where the API server does not have its group, or not its resource', async () => {
  const missing = async (paths: Parameters<typeof kubeStandIn>[0]) => {
    const { kube } = await kubeStandIn(paths);
    return missingCrds(() => kube);
  };
  expect(await missing({})).toEqual(['nodepoollabels', 'nodeservices']);
  expect(await missing({ [OURS]: resources('nodepoollabels/status', 'nodeservices') })).toEqual(['nodepoollabels']);
});

test('no CRD is missing where the API server has them', async () => {
  const { kube } = await kubeStandIn({ [OURS]: resources('nodepoollabels', 'nodeservices') });
  expect(await missingCrds(() => kube)).toEqual([]);
});

test('no CRD is called missing where the API server may not be asked, or cannot be', async () => {
  for (const status of [403, 500]) {
    const { kube } = await kubeStandIn({ [OURS]: new Status(status) });
    expect(await missingCrds(() => kube)).toEqual([]);
  }
  const unreadable = () => {
    throw new Error('no kubeconfig');
  };
  expect(await missingCrds(unreadable)).toEqual([]);
});

test('for a key that no labeler decides about, keys are named that contain it, end as it does or are nearly the same', () => {
  const keys = ['a.example/tier', 'b.example/tier-2', 'c.example/other'].map((key) => keyDocument({ key }));
  const cureOf = (key: string) => unknownKey(nodeDocument({ keys }), key, []).cure;
  expect(cureOf('tier')).toBe('did you mean a.example/tier and b.example/tier-2?');
  expect(cureOf('z.example/tier')).toBe('did you mean a.example/tier?');
  expect(cureOf('c.example/othr')).toBe('did you mean c.example/other?');
});

test('several CRDs that are missing are all named', () => {
  const failure = unknownKey(nodeDocument({ keys: [] }), 'k', ['nodepoollabels', 'nodeservices']);
  expect(failure).toMatchObject({
    message:
      'rollcall does not decide about k on node/node-7: the CRD of nodepoollabels and nodeservices is not installed',
    cure: expect.stringMatching(
      /^kubectl apply -f deploy\/crds\/nodepoollabels\.yaml -f deploy\/crds\/nodeservices\.yaml, /,
    ),
    exitCode: 1,
  });
  expect(unknownKey(nodeDocument({ keys: [] }), 'k', []).exitCode).toBe(1);
});
