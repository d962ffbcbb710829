import { expect, test } from 'vitest';
import { isPositiveQuantity } from './quantity.ts';

test.each(['1', '2k', '500m', '0.5', '.5', '1e3', '1E', '4Ki', '1n', '+1', '10', '1.'])('%s is some', (quantity) => {
  expect(isPositiveQuantity(quantity)).toBe(true);
});

test.each(['0', '0k', '0.0', '0e5', '-1', '-500m', '', 'many', '1x', '1 ', ' 1', '1kk', '.', '1e', 'NaN', '٣'])(
  '%j is none',
  (quantity) => {
    expect(isPositiveQuantity(quantity)).toBe(false);
  },
);
