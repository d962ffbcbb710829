import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodeRateLimit } from './node-rate-limit.ts';

function takeUntilEmpty(limit: NodeRateLimit, node: string, nowMs: number): number {
  for (let taken = 0; taken < 1000; taken += 1) if (limit.take(node, nowMs) > 0) return taken;
  throw new Error('There is no limit');
}

describe('NodeRateLimit', () => {
  it('lets a burst through, and then what the rate allows', () => {
    const limit = new NodeRateLimit({ burst: 20, perSecond: 10 });
    expect(takeUntilEmpty(limit, 'a', 0)).toBe(20);
    expect(takeUntilEmpty(limit, 'a', 1000)).toBe(10);
    expect(takeUntilEmpty(limit, 'a', 60_000)).toBe(20);
  });

  it('says how long to wait', () => {
    const limit = new NodeRateLimit({ burst: 1, perSecond: 10 });
    expect(limit.take('a', 0)).toBe(0);
    expect(limit.take('a', 40)).toBeCloseTo(60);
    expect(limit.take('a', 100)).toBe(0);
  });

  it('takes several at once or none of them', () => {
    const limit = new NodeRateLimit({ burst: 10, perSecond: 10 });
    expect(limit.take('a', 0, 6)).toBe(0);
    expect(limit.take('a', 0, 6)).toBeCloseTo(200);
    expect(limit.take('a', 0, 4)).toBe(0);
    expect(limit.take('a', 0, 1)).toBeCloseTo(100);
    expect(limit.take('b', 0, 11)).toBeCloseTo(100);
  });

  it('keeps those whose bucket is not full when it forgets the others', () => {
    const limit = new NodeRateLimit({ burst: 2, perSecond: 1 });
    limit.take('busy', 10_000, 2);
    for (let index = 0; index < 1500; index += 1) limit.take(`node-${index}`, 9_000);
    for (let index = 0; index < 1500; index += 1) limit.take(`other-${index}`, 10_500);
    expect(limit.take('busy', 10_500)).toBeCloseTo(500);
  });

  it('gives each node a bucket of its own', () => {
    const limit = new NodeRateLimit({ burst: 3, perSecond: 1 });
    expect(takeUntilEmpty(limit, 'a', 0)).toBe(3);
    expect(takeUntilEmpty(limit, 'b', 0)).toBe(3);
  });

  it('forgets nodes whose bucket is full again', () => {
    const limit = new NodeRateLimit({ burst: 2, perSecond: 1 });
    for (let index = 0; index < 100_000; index += 1) limit.take(`node-${index}`, index * 10);
    expect(limit.size).toBeLessThan(3000);
  });

  it('never lets more through than burst and rate allow', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 150 }), { maxLength: 200 }), (pausesMs) => {
        const limit = new NodeRateLimit({ burst: 5, perSecond: 10 });
        let nowMs = 0;
        let taken = 0;
        for (const pauseMs of pausesMs) {
          nowMs += pauseMs;
          if (limit.take('a', nowMs) === 0) taken += 1;
          expect(taken).toBeLessThanOrEqual(5 + nowMs / 100 + 1e-6);
        }
      }),
    );
  });
});
