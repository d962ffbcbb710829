import { expect, test } from 'vitest';
import { BodyBudget } from './body.ts';

test('a budget is used up, and given back', () => {
  const budget = new BodyBudget({ bytesMax: 10, totalMax: 15 });
  expect(budget.bytesMax).toBe(10);
  expect([budget.take(10), budget.take(6), budget.take(5), budget.take(1), budget.take(0)]).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
  budget.give(5);
  expect([budget.take(6), budget.take(5)]).toEqual([false, true]);
});
