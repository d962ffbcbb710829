import { expect, test } from 'vitest';
import { otherPoolsOf, poolOf } from './pools.ts';

test('the first label that has a value names the pool', () => {
  expect(poolOf({ c: 'third', b: 'second', a: '' }, ['a', 'b', 'c'])).toBe('second');
});

test('later labels name other pools, each once', () => {
  const labels = { a: '', b: 'one', c: 'one', d: 'two', e: 'three', f: 'two' };
  expect(otherPoolsOf(labels, ['a', 'b', 'c', 'd', 'e', 'f'])).toEqual(['two', 'three']);
  expect(otherPoolsOf({ b: 'one', c: 'one' }, ['a', 'b', 'c'])).toEqual([]);
});

test('a node without such a label is in no pool', () => {
  expect(poolOf({ other: 'x', a: '' }, ['a', 'b'])).toBeUndefined();
});
