import type { Clock } from '@rollcall/common/clock.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { SharedTimer } from './shared-timer.ts';

let clock: FakeClock;
let timer: SharedTimer;
let called: string[];
/** Times at which the process was woken. */
let woken: Set<number>;

beforeEach(() => {
  clock = new FakeClock();
  called = [];
  woken = new Set();
  const counting: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (delayMs, callback) =>
      clock.after(delayMs, () => {
        woken.add(clock.monotonic());
        callback();
      }),
  };
  timer = new SharedTimer(counting);
});

function after(delayMs: number, name: string) {
  return timer.after(delayMs, () => called.push(`${name} ${clock.monotonic()}`));
}

/** Calls back again and again. */
function repeat(periodMs: number, name: string): void {
  timer.after(periodMs, () => {
    called.push(name);
    repeat(periodMs, name);
  });
}

describe('a shared timer', () => {
  test('calls each once, when it is due', async () => {
    after(1000, 'a');
    after(300, 'b');
    await clock.advance(5000);
    expect(called).toEqual(['b 300', 'a 1000']);
  });

  test('calls together what is due within a tenth of its delay', async () => {
    after(1000, 'first');
    await clock.advance(90);
    after(1000, 'a little later');
    await clock.advance(20);
    after(1000, 'later');
    await clock.advance(5000);
    expect(called).toEqual(['first 1000', 'a little later 1000', 'later 1110']);
    expect(woken.size).toBe(2);
  });

  test('wakes once a period for all that comes round, whenever each began', async () => {
    for (let index = 0; index < 20; index += 1) {
      repeat(5000, String(index));
      await clock.advance(20);
    }
    await clock.advance(10_000);
    [called, woken] = [[], new Set()];
    await clock.advance(50_000);
    expect([called.length, woken.size]).toEqual([200, 10]);
  });

  test('never calls what was cancelled, also by another that is due with it, and leaves no timer', async () => {
    const cancel = after(1000, 'cancelled');
    timer.after(500, cancel);
    timer.after(2000, () => cancelOther());
    const cancelOther = after(2000, 'cancelled as well');
    await clock.advance(1500);
    expect([called, clock.pendingTimers]).toEqual([[], 1]);
    await clock.advance(1500);
    expect([called, clock.pendingTimers]).toEqual([[], 0]);
  });

  test('goes on after a timer that came a fraction of a millisecond early', async () => {
    let earlyMs = 0.4;
    const early: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (delayMs, callback) => clock.after(delayMs - earlyMs, callback),
    };
    timer = new SharedTimer(early);
    after(1, 'a');
    await clock.advance(1);
    expect(called).toEqual(['a 0.6']);
    earlyMs = 0;
    after(1, 'b');
    await clock.advance(1);
    expect(called).toHaveLength(2);
  });
});
