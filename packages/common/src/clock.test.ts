import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { every, haveClocksParted, momentOf, sleep, systemClock } from './clock.ts';
import { FakeClock } from './testing/fake-clock.ts';

describe('systemClock', () => {
  test('calls back after the delay, and not before', async () => {
    const startMs = systemClock.monotonic();
    // An unreferenced timer alone would not keep a program alive; the test runner is alive for other reasons.
    await new Promise<void>((resolve) => systemClock.after(20, resolve));
    expect(systemClock.monotonic() - startMs).toBeGreaterThanOrEqual(19);
  });

  test('does not call back what was cancelled', async () => {
    let called = false;
    const cancel = systemClock.after(1, () => {
      called = true;
    });
    cancel();
    await new Promise<void>((resolve) => systemClock.after(20, resolve));
    expect(called).toBe(false);
  });

  test('keeps no process alive', () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const cancel = systemClock.after(60_000, () => {});
    expect(timers()).toBe(before);
    cancel();
  });

  test('tells the time of the day', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
  });
});

describe('every', () => {
  const lifetime = () => new AbortController();

  test('calls back each time that the period has passed, and not at once', async () => {
    const clock = new FakeClock();
    const called: number[] = [];
    every(clock, 100, lifetime().signal, () => called.push(clock.monotonic()));
    await clock.advance(350);
    expect(called).toEqual([100, 200, 300]);
  });

  test('goes on after a call that threw', async () => {
    const clock = new FakeClock();
    let calls = 0;
    every(clock, 100, lifetime().signal, () => {
      calls += 1;
      throw new Error('broken');
    });
    await expect(clock.advance(100)).rejects.toThrow('broken');
    await expect(clock.advance(100)).rejects.toThrow('broken');
    expect(calls).toBe(2);
  });

  test('ends with the signal, and leaves no timer', async () => {
    const clock = new FakeClock();
    const controller = lifetime();
    let calls = 0;
    every(clock, 100, controller.signal, () => {
      calls += 1;
    });
    await clock.advance(100);
    controller.abort();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(1000);
    expect(calls).toBe(1);
  });

  test('does not begin when the signal has aborted already', () => {
    const clock = new FakeClock();
    every(clock, 100, AbortSignal.abort(), () => {});
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('sleep', () => {
  test('listens to the signal for no longer than it sleeps', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const sleeping = sleep(clock, 100, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await clock.advance(100);
    await sleeping;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('ends when its time is over', async () => {
    const clock = new FakeClock();
    let awake = false;
    void sleep(clock, 100, new AbortController().signal).then(() => {
      awake = true;
    });
    await clock.advance(99);
    expect(awake).toBe(false);
    await clock.advance(1);
    expect(awake).toBe(true);
  });

  test('ends when the signal aborts, and leaves no timer', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort();
    await sleeping;
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not begin when the signal has aborted already', async () => {
    const clock = new FakeClock();
    await sleep(clock, 100, AbortSignal.abort());
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('haveClocksParted', () => {
  test.each([
    [1000, false],
    [1001, true],
    [-1000, false],
    [-1001, true],
  ])(
    'tells whether the wall clock went otherwise than the monotonic one by more than a second: %s ms',
    (byMs, expected) => {
      const clock = new FakeClock();
      const since = momentOf(clock);
      clock.standStill(3_600_000);
      expect(haveClocksParted(clock, since)).toBe(false);
      clock.jumpWallClock(byMs);
      expect(haveClocksParted(clock, since)).toBe(expected);
      expect(haveClocksParted(clock, momentOf(clock))).toBe(false);
    },
  );
});
