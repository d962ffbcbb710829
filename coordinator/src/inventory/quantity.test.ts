import { expect, test } from 'vitest';
import { quantityOf } from './quantity.ts';

test.each([
  ['1', 1],
  ['2k', 2000],
  ['500m', 0.5],
  ['.5', 0.5],
  ['1e3', 1000],
  ['1E', 1e18],
  ['4Ki', 4096],
  ['64Gi', 68_719_476_736],
  ['+1', 1],
  ['1.', 1],
  ['0', 0],
  ['0e5', 0],
  ['-500m', -0.5],
])('%s is %d', (text, amount) => {
  expect(quantityOf(text)).toBeCloseTo(amount, 12);
});

test.each(['', 'many', '1x', '1 ', ' 1', '1kk', '.', '1e', 'NaN', '٣'])('%j is no quantity', (text) => {
  expect(quantityOf(text)).toBeUndefined();
});
