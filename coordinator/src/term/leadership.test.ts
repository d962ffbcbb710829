import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { Leadership } from './leadership.ts';

const DEADLINE_MS = 10_000;
const EPOCH_MS = Date.UTC(2026, 0, 1);

/** Times of clocks that agree. */
const at = (monotonicMs: number) => ({ monotonicMs, wallMs: EPOCH_MS + monotonicMs });

function standby(onStarted: () => void = () => {}, clock = new FakeClock(EPOCH_MS)) {
  const told: string[] = [];
  const leadership = new Leadership({
    clock,
    renewDeadlineMs: DEADLINE_MS,
    identity: 'a',
    logger: silentLogger(),
    callbacks: {
      onStartedLeading: (term) => {
        told.push(`started ${term}`);
        onStarted();
      },
      onStoppedLeading: () => told.push('stopped'),
    },
    metrics: { leading: (is) => told.push(is ? 'leading' : 'not leading') },
    onChange: () => told.push('changed'),
  });
  return { clock, leadership, told };
}

const STOPPED = ['not leading', 'stopped', 'changed'];

describe('leadership', () => {
  test('lasts until the deadline after its write was begun, and is told to end then', async () => {
    const { clock, leadership, told } = standby();
    await clock.advance(3000);
    leadership.start(4, at(1000));
    expect(told).toEqual(['not leading', 'leading', 'started 4']);
    expect([leadership.term, leadership.remainingMs(), leadership.renewedAt]).toEqual([4, 8000, 1000]);
    await clock.advance(7999);
    expect(told).toHaveLength(3);
    await clock.advance(1);
    expect(told.slice(3)).toEqual(STOPPED);
    expect([leadership.term, leadership.remainingMs()]).toEqual([undefined, 0]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not begin with an answer that came after the deadline', () => {
    const { clock, leadership, told } = standby();
    clock.standStill(DEADLINE_MS);
    leadership.start(1, at(0));
    expect(leadership.term).toBeUndefined();
    expect(told).toEqual(['not leading']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('is extended from when the renewal was begun', async () => {
    const { clock, leadership, told } = standby();
    leadership.start(1, at(0));
    await clock.advance(9000);
    leadership.extend(at(6000));
    expect([leadership.remainingMs(), leadership.renewedAt]).toEqual([7000, 6000]);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(6999);
    expect(told).not.toContain('stopped');
    await clock.advance(1);
    expect(told.slice(3)).toEqual(STOPPED);
  });

  test('that has run out is not extended by a renewal that becomes known late: it ends', () => {
    const { clock, leadership, told } = standby();
    leadership.start(1, at(0));
    clock.standStill(DEADLINE_MS);
    leadership.extend(at(9000));
    expect([leadership.term, leadership.remainingMs(), leadership.renewedAt]).toEqual([undefined, 0, 0]);
    expect(told.slice(3)).toEqual(STOPPED);
  });

  test('that has ended is not brought back by a renewal', () => {
    const { clock, leadership, told } = standby();
    leadership.start(1, at(0));
    leadership.end('on purpose');
    leadership.extend(at(0));
    leadership.check();
    leadership.end('again');
    expect([leadership.term, leadership.remainingMs()]).toEqual([undefined, 0]);
    expect(leadership.fencedInMs()).toBe(DEADLINE_MS);
    expect(told.slice(3)).toEqual(STOPPED);
    expect(clock.pendingTimers).toBe(0);
  });

  test('that has run out while the process stood still is none before anything is called', () => {
    const { clock, leadership, told } = standby();
    leadership.start(1, at(0));
    clock.standStill(DEADLINE_MS);
    expect(leadership.remainingMs()).toBe(0);
    leadership.check();
    expect(told.slice(3)).toEqual(STOPPED);
  });

  test.each([
    ['forward', 1001],
    ['back', -1001],
  ])(
    'covers nothing from when the clocks have parted by more than a second, %s, and ends at the next look',
    (_where, byMs) => {
      const { clock, leadership, told } = standby();
      leadership.start(1, at(0));
      clock.jumpWallClock(byMs);
      expect([leadership.term, leadership.remainingMs(), leadership.fencedInMs()]).toEqual([1, 0, 0]);
      leadership.extend(at(0));
      expect(told.slice(3)).toEqual(STOPPED);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  test.each([1000, -1000])('is neither shorter nor longer for clocks that part by %s ms', (byMs) => {
    const { clock, leadership } = standby();
    leadership.start(1, at(0));
    clock.jumpWallClock(byMs);
    expect(leadership.remainingMs()).toBe(DEADLINE_MS);
    leadership.extend(at(0));
    expect(leadership.term).toBe(1);
  });

  test('does not begin when the clocks parted while the write was under way', () => {
    const { clock, leadership } = standby();
    clock.jumpWallClock(20_000);
    leadership.start(1, at(0));
    expect(leadership.term).toBeUndefined();
  });

  test('goes on when it is checked in time', async () => {
    const { clock, leadership, told } = standby();
    leadership.start(1, at(0));
    await clock.advance(9999);
    leadership.check();
    expect(leadership.term).toBe(1);
    await clock.advance(1);
    expect(told.slice(3)).toEqual(STOPPED);
  });

  test('ends in time where timers fire a moment too early', async () => {
    class HastyClock extends FakeClock {
      override after(delayMs: number, callback: () => void): () => void {
        return super.after(Math.max(0.5, delayMs - 1), callback);
      }
    }
    const { clock, leadership, told } = standby(() => {}, new HastyClock(EPOCH_MS));
    leadership.start(1, at(0));
    await clock.advance(DEADLINE_MS - 0.75);
    expect(leadership.term).toBe(1);
    await clock.advance(1);
    expect(told.slice(3)).toEqual(STOPPED);
  });

  test('does not depend on those who are told', () => {
    const { leadership } = standby(() => {
      throw new Error('on purpose');
    });
    leadership.start(1, at(0));
    expect(leadership.term).toBe(1);
  });
});
