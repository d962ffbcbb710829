import { expect, test } from 'vitest';
import { count, grouped, isOrAre, listed } from './count.ts';

test('none and many are plural', () => {
  expect([count(0, 'node'), count(2, 'node'), count(0, 'policy', 'policies')]).toEqual([
    '0 nodes',
    '2 nodes',
    '0 policies',
  ]);
});

test('one is, and any other number are', () => {
  expect([0, 1, 2].map(isOrAre)).toEqual(['are', 'is', 'are']);
});

test('thousands are grouped', () => {
  expect(grouped(1_234_567)).toBe('1,234,567');
});

test('five items are listed in full, and of six the sixth is counted', () => {
  expect(listed(['a', 'b', 'c', 'd', 'e'])).toBe('a, b, c, d and e');
  expect(listed(['a', 'b', 'c', 'd', 'e', 'f'])).toBe('a, b, c, d, e and 1 more');
});

test('two items have no comma between them', () => {
  expect(listed(['a', 'b'])).toBe('a and b');
});
