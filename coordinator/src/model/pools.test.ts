import { expect, test } from 'vitest';
import { poolOf } from './pools.ts';

test('the first label that has a value names the pool', () => {
  expect(poolOf({ c: 'third', b: 'second', a: '' }, ['a', 'b', 'c'])).toBe('second');
});

test('a node without such a label is in no pool', () => {
  expect(poolOf({ other: 'x', a: '' }, ['a', 'b'])).toBeUndefined();
});
