import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TokenBucket, TokenBuckets } from './token-bucket.ts';

describe('a bucket', () => {
  test('gives a burst at once, and then one for each interval', () => {
    const bucket = new TokenBucket({ burst: 3, intervalMs: 500 });
    expect([0, 0, 0, 0].map((nowMs) => bucket.take(nowMs))).toEqual([true, true, true, false]);
    expect(bucket.waitMs(0)).toBe(500);
    expect(bucket.take(499)).toBe(false);
    expect(bucket.take(500)).toBe(true);
    expect(bucket.take(500)).toBe(false);
  });

  test('gives back what was not used', () => {
    const bucket = new TokenBucket({ burst: 1, intervalMs: 1000 });
    expect(bucket.take(0)).toBe(true);
    bucket.giveBack();
    expect([bucket.take(0), bucket.take(0)]).toEqual([true, false]);
  });

  test('never saves up more than the burst', () => {
    const bucket = new TokenBucket({ burst: 2, intervalMs: 1000 });
    bucket.giveBack();
    expect([9e6, 9e6, 9e6].map((nowMs) => bucket.take(nowMs))).toEqual([true, true, false]);
  });

  test('is full at first, whatever the clock says', () => {
    const bucket = new TokenBucket({ burst: 1, intervalMs: 1000 });
    expect([3_600_000, 3_600_500, 3_601_000].map((nowMs) => bucket.take(nowMs))).toEqual([true, false, true]);
  });

  test('is never exceeded, and has a token after the time that it names', () => {
    const steps = fc.array(fc.double({ min: 0, max: 5000, noNaN: true }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.double({ min: 20, max: 10_000, noNaN: true }), steps, (intervalMs, pauses) => {
        const bucket = new TokenBucket({ intervalMs, burst: 10 });
        let nowMs = 0;
        let taken = 0;
        for (const pauseMs of pauses) {
          nowMs += pauseMs;
          while (bucket.take(nowMs)) taken += 1;
          expect(taken).toBeLessThanOrEqual(10 + nowMs / intervalMs + 1e-6);
          nowMs += bucket.waitMs(nowMs);
          expect(bucket.take(nowMs)).toBe(true);
          taken += 1;
        }
      }),
    );
  });
});

function takeUntilEmpty(buckets: TokenBuckets, key: string, nowMs: number): number {
  for (let taken = 0; taken < 1000; taken += 1) if (buckets.take(key, nowMs) > 0) return taken;
  throw new Error('There is no limit');
}

describe('buckets by key', () => {
  const bucketsOf = (burst: number, intervalMs: number, keysMax = 10_000) =>
    new TokenBuckets({ burst, intervalMs, keysMax });

  test('let a burst of each through, and then what the rate allows', () => {
    const buckets = bucketsOf(20, 100);
    expect([0, 1000, 60_000].map((nowMs) => takeUntilEmpty(buckets, 'a', nowMs))).toEqual([20, 10, 20]);
    expect(takeUntilEmpty(buckets, 'b', 60_000)).toBe(20);
  });

  test('say how long to wait', () => {
    const buckets = bucketsOf(1, 100);
    expect(buckets.take('a', 0)).toBe(0);
    expect(buckets.take('a', 40)).toBeCloseTo(60);
    expect(buckets.take('a', 100)).toBe(0);
  });

  test('take several at once or none of them', () => {
    const buckets = bucketsOf(10, 100);
    expect(buckets.take('a', 0, 6)).toBe(0);
    expect(buckets.take('a', 0, 6)).toBeCloseTo(200);
    expect(buckets.take('a', 0, 4)).toBe(0);
    expect(buckets.take('a', 0, 1)).toBeCloseTo(100);
    expect(buckets.take('b', 0, 11)).toBeCloseTo(100);
  });

  test('give the whole burst at whatever fraction of a millisecond', () => {
    const buckets = bucketsOf(25, 300_000);
    for (let index = 0; index < 100; index += 1)
      expect(takeUntilEmpty(buckets, `n${index}`, index * 1234.567)).toBe(25);
  });

  test('are forgotten when they are full, and kept when they are not', () => {
    const buckets = bucketsOf(2, 1000);
    for (let index = 0; index < 1500; index += 1) buckets.take(`node-${index}`, 9000);
    buckets.take('busy', 10_000, 2);
    expect(buckets.size).toBe(1);
    expect(buckets.take('busy', 10_500)).toBeCloseTo(1500 - 1000);
    for (let index = 0; index < 100_000; index += 1) buckets.take(`node-${index}`, 20_000 + index * 10);
    expect(buckets.size).toBeLessThan(110);
  });

  test('are no more than `keysMax`: the one that was used longest ago goes first, also where it was refused since', () => {
    const buckets = bucketsOf(1, 1_000_000, 2);
    for (const key of ['a', 'b', 'a', 'c']) buckets.take(key, 0);
    expect(buckets.size).toBe(2);
    expect(['a', 'c'].map((key) => buckets.take(key, 0) > 0)).toEqual([true, true]);
    expect(buckets.take('b', 0)).toBe(0);
  });
});
