import { expect, test } from 'vitest';
import { seedsOf } from './halves.ts';
import { historyOf } from './history.ts';
import { describeFailure, search } from './search.ts';

const seeds = seedsOf('first');

test('whatever people do, the Nodes say the truth, and nothing else is touched', {
  timeout: 900_000 + seeds.count * 200,
}, async () => {
  const failing = await search(seeds);
  expect(failing && (await describeFailure(failing))).toBeUndefined();
});

test('a seed always gives the same history', () => {
  expect(historyOf(7)).toEqual(historyOf(7));
  expect(historyOf(8)).not.toEqual(historyOf(7));
});
