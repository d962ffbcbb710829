import { expect, test } from 'vitest';
import { observeHoldingPod } from './holding-pod.ts';

const METADATA = { name: 'a', namespace: 'ci', uid: 'u', resourceVersion: '1' };

test('of a pod its labels and its node are kept', () => {
  const labels = { hold: 'yes' };
  expect(observeHoldingPod({ metadata: { ...METADATA, labels }, spec: { nodeName: 'n1' } })).toEqual({
    uid: 'u',
    namespace: 'ci',
    name: 'a',
    labels,
    node: 'n1',
  });
});

test('a pod without labels that is on no node yet is kept as one', () => {
  expect(observeHoldingPod({ metadata: METADATA })).toMatchObject({ labels: {}, node: '' });
});
