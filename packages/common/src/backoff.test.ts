import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Backoff } from './backoff.ts';

describe('Backoff', () => {
  test('doubles up to the largest delay, and begins anew after a reset', () => {
    const backoff = new Backoff({ baseMs: 100, maxMs: 1000, random: () => 0 });
    expect(Array.from({ length: 6 }, () => backoff.next())).toEqual([50, 100, 200, 400, 500, 500]);
    expect(backoff.attempts).toBe(6);
    backoff.reset();
    expect(backoff.attempts).toBe(0);
    expect(backoff.next()).toBe(50);
  });

  test('stays between half of a delay and the whole of it, however often it is asked', () => {
    const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1, maxLength: 100 }), (draws) => {
        let index = 0;
        const backoff = new Backoff({ baseMs: 200, maxMs: 10_000, random: () => draws[index] ?? 0 });
        for (index = 0; index < draws.length; index += 1) {
          const wholeMs = Math.min(10_000, 200 * 2 ** index);
          const delayMs = backoff.next();
          expect(delayMs).toBeGreaterThanOrEqual(wholeMs / 2);
          expect(delayMs).toBeLessThanOrEqual(wholeMs);
        }
      }),
    );
  });

  test('stays finite after thousands of attempts', () => {
    const backoff = new Backoff({ baseMs: 1, maxMs: 5000, random: () => 0.5 });
    for (let i = 0; i < 5000; i += 1) backoff.next();
    expect(backoff.next()).toBe(3750);
  });
});
