import { expect, test } from 'vitest';
import { seedsOf } from './halves.ts';
import { describeFailure, search } from './search.ts';

const seeds = seedsOf('second');

test('whatever people do, the Nodes say the truth, and nothing else is touched', {
  timeout: 900_000 + seeds.count * 200,
}, async () => {
  const failing = await search(seeds);
  expect(failing && (await describeFailure(failing))).toBeUndefined();
});
