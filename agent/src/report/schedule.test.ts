import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Schedule } from './reporter.ts';

function schedule(random = 0) {
  return new Schedule({ heartbeatSeconds: 10, random: () => random });
}

describe('Schedule', () => {
  test('is due at once at the beginning', () => {
    expect(schedule().dueMs(true)).toBeLessThan(0);
  });

  test('waits for the interval of the coordinator, or else for its own', () => {
    const plan = schedule();
    plan.accepted(1000, undefined);
    expect(plan.dueMs(false)).toBe(11_000);
    plan.accepted(2000, 30);
    expect(plan.dueMs(false)).toBe(32_000);
    plan.accepted(3000, undefined);
    expect(plan.dueMs(false)).toBe(33_000);
  });

  test('sends news at once after a report that was accepted', () => {
    const plan = schedule();
    plan.accepted(1000, 30);
    expect(plan.dueMs(true)).toBe(1000);
  });

  test('is early by up to 5 %, never late', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.double({ min: 0.2, max: 600, noNaN: true }),
        (random, seconds) => {
          const plan = schedule(random);
          plan.accepted(0, seconds);
          expect(plan.dueMs(false)).toBeLessThanOrEqual(seconds * 1000);
          expect(plan.dueMs(false)).toBeGreaterThanOrEqual(seconds * 949.99);
        },
      ),
    );
  });

  test('takes 0.2 to 600 s', () => {
    const plan = schedule();
    plan.accepted(0, 0.001);
    expect(plan.dueMs(false)).toBe(200);
    plan.accepted(0, 9999);
    expect(plan.dueMs(false)).toBe(600_000);
  });

  test('backs off from 0.2 s to at most 10 s while attempts fail, and starts anew after one that did not', () => {
    const plan = schedule();
    const waits: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      plan.failed({ startMs: 0, nowMs: 0, retryAfterMs: 0, exhausted: true });
      waits.push(plan.dueMs(false));
    }
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    plan.accepted(0, 10);
    plan.failed({ startMs: 0, nowMs: 0, retryAfterMs: 0, exhausted: true });
    expect(plan.dueMs(false)).toBe(200);
    const late = schedule(0.999);
    for (let i = 0; i < 8; i += 1) late.failed({ startMs: 0, nowMs: 0, retryAfterMs: 0, exhausted: true });
    expect(late.dueMs(false)).toBeLessThanOrEqual(10_000);
  });

  test('lets news go out during backoff, 200 ms after the last attempt began', () => {
    const plan = schedule();
    for (let i = 0; i < 8; i += 1) plan.failed({ startMs: 1000, nowMs: 1050, retryAfterMs: 0, exhausted: true });
    expect(plan.dueMs(false)).toBe(6050);
    expect(plan.dueMs(true)).toBe(1200);
  });

  test('holds back even news for as long as the coordinator asks', () => {
    const plan = schedule();
    plan.failed({ startMs: 1000, nowMs: 1050, retryAfterMs: 7000, exhausted: true });
    expect(plan.dueMs(false)).toBe(8050);
    expect(plan.dueMs(true)).toBe(8050);
  });

  test('tries the next one 200 ms after the last attempt began, while a coordinator is left to try', () => {
    const plan = schedule();
    for (let i = 0; i < 8; i += 1) plan.failed({ startMs: 1000, nowMs: 1050, retryAfterMs: 0, exhausted: false });
    expect(plan.dueMs(false)).toBe(1200);
  });

  test('waits for as long as any of those asked, however often that happens', () => {
    const plan = schedule();
    for (let i = 0; i < 8; i += 1) {
      plan.failed({ startMs: 0, nowMs: 0, retryAfterMs: 1000, exhausted: false });
      plan.failed({ startMs: 0, nowMs: 0, retryAfterMs: 0, exhausted: true });
      expect(plan.dueMs(false)).toBe(1000);
    }
  });

  test('waits as long as was asked for once, and then by its own backoff', () => {
    const plan = schedule();
    plan.failed({ startMs: 0, nowMs: 0, retryAfterMs: 7000, exhausted: true });
    plan.failed({ startMs: 7000, nowMs: 7000, retryAfterMs: 0, exhausted: true });
    expect(plan.dueMs(false)).toBe(7200);
    expect(plan.dueMs(true)).toBe(7200);
  });

  test('never backs off much longer than the interval between reports', () => {
    const plan = schedule();
    plan.accepted(0, 2);
    for (let i = 0; i < 8; i += 1) plan.failed({ startMs: 0, nowMs: 0, retryAfterMs: 0, exhausted: true });
    expect(plan.dueMs(false)).toBe(2000);
  });

  test('sends the content as soon as it is asked for', () => {
    const plan = schedule();
    plan.accepted(1000, 30);
    plan.contentWanted(1000);
    expect(plan.dueMs(false)).toBe(1000);
  });
});
