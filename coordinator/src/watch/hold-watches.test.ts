import { expect, test } from 'vitest';
import { nodeHold, toldHolds } from '../state/holds/holds.test-fixtures.ts';
import { MemoryApi, podObject, podsPath } from './memory-api.test-fixtures.ts';
import { HoldWatches } from './watches.ts';

const HOLDS = '/apis/rollcall.dev/v1alpha1/nodeholds';
const CI = podsPath('ci');
const OBJECT = {
  metadata: { name: 'jobs', uid: 'uid-jobs', resourceVersion: '5', generation: 1 },
  spec: { pods: { namespace: 'ci', selector: { matchLabels: { hold: 'jobs' } } } },
};

async function holdWatches(options: { absent?: true; refused?: true } = {}) {
  const { holds } = toldHolds();
  const api = new MemoryApi();
  api.collections.set(HOLDS, [OBJECT]).set(CI, [podObject('a', { hold: 'jobs' }), podObject('b', { hold: 'no' })]);
  if (options.absent) api.refused.set(HOLDS, 404);
  if (options.refused) api.refused.set(CI, 403);
  const watches = new HoldWatches({ ...api.shared, holds });
  const running = watches.run();
  await api.clock.advance(0);
  watches.update();
  await api.clock.advance(0);
  return { api, holds, watches, running };
}

test('the NodeHolds are watched, and of the pods that they name those that have not ended', async () => {
  const { api, holds } = await holdWatches();
  expect(api.watched()).toEqual([CI, HOLDS]);
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
  expect(watches.problemOf(nodeHold('jobs'))).toMatch('The coordinator may not watch the pods in ci: ');
  expect(watches.problemOf(nodeHold('other', { pods: elsewhere }))).toBeUndefined();
  expect(watches.problemOf(nodeHold('strange', { pods: undefined }))).toBeUndefined();
});

test('it runs until the program stops', async () => {
  const { api, running } = await holdWatches();
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  await api.clock.advance(1000);
  expect(isOver).toBe(false);
  api.stop.abort();
  await api.clock.advance(0);
  expect({ isOver, watched: api.watched() }).toEqual({ isOver: true, watched: [] });
});
