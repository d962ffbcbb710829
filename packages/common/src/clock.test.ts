import { describe, expect, test } from 'vitest';
import { sleep, systemClock } from './clock.ts';
import { FakeClock } from './fake-clock.ts';

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

  test('tells the time of the day', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
  });
});

describe('sleep', () => {
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
