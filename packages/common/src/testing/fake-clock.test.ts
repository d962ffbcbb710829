import { describe, expect, test } from 'vitest';
import { FakeClock } from './fake-clock.ts';

describe('FakeClock', () => {
  test('stands still until it is moved', async () => {
    const clock = new FakeClock(1000);
    await new Promise((resolve) => setImmediate(resolve));
    expect([clock.now(), clock.monotonic()]).toEqual([1000, 0]);
    await clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1250, 250]);
  });

  test('calls what falls due in the order of time, then of asking, each at its own time', async () => {
    const clock = new FakeClock();
    const calls: string[] = [];
    const note = (name: string) => () => calls.push(`${name}@${clock.monotonic()}`);
    clock.after(20, note('b'));
    clock.after(10, note('a'));
    clock.after(20, note('c'));
    clock.after(31, note('never'));
    await clock.advance(30);
    expect(calls).toEqual(['a@10', 'b@20', 'c@20']);
    expect(clock.pendingTimers).toBe(1);
  });

  test('also calls what was asked for on the way', async () => {
    const clock = new FakeClock();
    const times: number[] = [];
    const tick = () => {
      times.push(clock.monotonic());
      clock.after(10, tick);
    };
    clock.after(10, tick);
    await clock.advance(35);
    expect(times).toEqual([10, 20, 30]);
  });

  test('lets promises settle between two calls', async () => {
    const clock = new FakeClock();
    const order: string[] = [];
    clock.after(1, () => void Promise.resolve().then(() => order.push('promise')));
    clock.after(2, () => order.push('timer'));
    await clock.advance(2);
    expect(order).toEqual(['promise', 'timer']);
  });

  test('does not call what was cancelled', async () => {
    const clock = new FakeClock();
    let called = false;
    clock.after(1, () => {
      called = true;
    })();
    await clock.advance(10);
    expect(called).toBe(false);
  });

  test('calls late, and once, what fell due while it stood still', async () => {
    const clock = new FakeClock();
    const times: number[] = [];
    const tick = () => {
      times.push(clock.monotonic());
      clock.after(10, tick);
    };
    clock.after(10, tick);
    clock.standStill(1000);
    expect(times).toEqual([]);
    await clock.advance(15);
    expect(times).toEqual([1000, 1010]);
  });

  test('moves the wall clock without moving time', () => {
    const clock = new FakeClock(1000);
    clock.jumpWallClock(-500);
    expect([clock.now(), clock.monotonic()]).toEqual([500, 0]);
  });

  test('sets no timer that Node could not set', () => {
    const clock = new FakeClock();
    clock.after(2 ** 31 - 1, () => {});
    expect(() => clock.after(2 ** 31, () => {})).toThrow(RangeError);
    expect(() => clock.after(Number.POSITIVE_INFINITY, () => {})).toThrow(RangeError);
    expect(() => clock.after(Number.NaN, () => {})).toThrow(RangeError);
    expect(clock.pendingTimers).toBe(1);
  });
});
