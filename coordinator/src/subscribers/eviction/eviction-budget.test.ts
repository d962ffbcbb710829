import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EvictionBudget } from './eviction-budget.ts';

describe('the budget', () => {
  test('gives a burst at once, and then one for each interval', () => {
    const budget = new EvictionBudget({ perSecond: 2, burst: 3 });
    expect([0, 0, 0, 0].map((nowMs) => budget.take(nowMs))).toEqual([true, true, true, false]);
    expect(budget.waitMs(0)).toBe(500);
    expect(budget.take(499)).toBe(false);
    expect(budget.take(500)).toBe(true);
    expect(budget.take(500)).toBe(false);
  });

  test('takes back what came to nothing', () => {
    const budget = new EvictionBudget({ perSecond: 1, burst: 1 });
    expect(budget.take(0)).toBe(true);
    budget.giveBack();
    expect(budget.take(0)).toBe(true);
    expect(budget.take(0)).toBe(false);
  });

  test('never saves up more than the burst', () => {
    const budget = new EvictionBudget({ perSecond: 1, burst: 2 });
    budget.giveBack();
    expect([9e6, 9e6, 9e6].map((nowMs) => budget.take(nowMs))).toEqual([true, true, false]);
  });

  test('is never exceeded, and is there after the time that it named', () => {
    const steps = fc.array(fc.double({ min: 0, max: 5000, noNaN: true }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 50, noNaN: true }), steps, (perSecond, pauses) => {
        const budget = new EvictionBudget({ perSecond, burst: 10 });
        let nowMs = 0;
        let taken = 0;
        for (const pauseMs of pauses) {
          nowMs += pauseMs;
          while (budget.take(nowMs)) taken += 1;
          expect(taken).toBeLessThanOrEqual(10 + (nowMs * perSecond) / 1000 + 1e-6);
          nowMs += budget.waitMs(nowMs);
          expect(budget.take(nowMs)).toBe(true);
          taken += 1;
        }
      }),
    );
  });
});
