import { expect, test } from 'vitest';
import { mostAtOnce } from './shared-counters.ts';

test('10,000 devices that share two counters, of which two exclude each other, are counted without an end of the stack', () => {
  const n = 10_000;
  const devices = Array.from({ length: n }, (_, at) => new Map([[at % 2 ? 'a' : 'b', 1]]));
  const big = new Map([
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ]);
  const capacities = new Map([
    ['a', n],
    ['b', n],
    ['c', 1],
  ]);
  expect(mostAtOnce([...devices, big, new Map(big)], capacities)).toEqual({ count: n + 1, isExact: false });
});
