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

test.each([
  ['n', 1e-9],
  ['u', 1e-6],
  ['m', 1e-3],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
  ['P', 1e15],
  ['E', 1e18],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
  ['Pi', 2 ** 50],
  ['Ei', 2 ** 60],
])('3%s is three times %d', (suffix, factor) => {
  expect((quantityOf(`3${suffix}`) ?? 0) / factor).toBeCloseTo(3, 12);
});
