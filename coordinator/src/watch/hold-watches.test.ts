import { expect, test } from 'vitest';
import { nodeHold } from '../state/holds/holds.test-fixtures.ts';
import { podObject, podsPath } from './memory-api.test-fixtures.ts';
import { allWatches, NODE_HOLDS } from './watches.test-fixtures.ts';

const CI = podsPath('ci');
const OBJECT = {
  metadata: { name: 'jobs', uid: 'uid-jobs', resourceVersion: '5', generation: 1 },
  spec: { pods: { namespace: 'ci', selector: { matchLabels: { hold: 'jobs' } } } },
};

async function holdWatches(options: { absent?: true; refused?: true } = {}) {
  const { api, holds, watches, settle } = allWatches();
  api.collections.set(NODE_HOLDS, [OBJECT]).set(CI, [podObject('a', { hold: 'jobs' }), podObject('b', { hold: 'no' })]);
  if (options.absent) api.refused.set(NODE_HOLDS, 404);
  if (options.refused) api.refused.set(CI, 403);
  void watches.run();
  await settle();
  watches.update();
  await settle();
  return { api, holds, watches };
}

test('the NodeHolds are watched, and of the pods that they name those that have not ended', async () => {
  const { api, holds } = await holdWatches();
  expect(api.watched()).toEqual(expect.arrayContaining([CI, NODE_HOLDS]));
  expect(api.selectorsOf(CI)).toEqual({
    labelSelector: 'hold=jobs',
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  });
  expect(holds.on('n1')).toEqual({ pods: [{ hold: 'jobs', namespace: 'ci', name: 'a' }], unknown: undefined });
});

test('where NodeHolds are not installed, it is known that there are none', async () => {
  const { api, holds } = await holdWatches({ absent: true });
  expect(holds.on('n1').unknown).toBeDefined();
  await api.clock.advance(10_000);
  expect(holds.on('n1')).toEqual({ pods: [], unknown: undefined });
});

test('why nothing is known of the pods of a NodeHold is told for that one alone', async () => {
  const { watches } = await holdWatches({ refused: true });
  const elsewhere = { namespace: 'other', selector: {} };
  expect(watches.problemOfHold(nodeHold('jobs'))).toMatch('The coordinator may not watch the pods in ci: ');
  expect(watches.problemOfHold(nodeHold('other', { pods: elsewhere }))).toBeUndefined();
  expect(watches.problemOfHold(nodeHold('strange', { pods: undefined }))).toBeUndefined();
});
