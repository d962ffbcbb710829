import { describe, expect, test } from 'vitest';
import { LeaseObserver } from './lease-observer.ts';
import type { Lease, LeaseSpec } from './lease-record.ts';

const LEASE_MS = 15_000;
/** An observer with `random` at a half. */
const SPREAD_MS = 125;
const ABSENCE_MS = 200;

function observer() {
  return new LeaseObserver({ identity: 'me', leaseDurationMs: LEASE_MS, random: () => 0.5 });
}

/** An observer, and how often it found that the history went back. */
function historian() {
  const found = { times: 0 };
  const onHistoryWentBack = () => {
    found.times += 1;
  };
  const seen = new LeaseObserver({ identity: 'me', leaseDurationMs: LEASE_MS, random: () => 0.5, onHistoryWentBack });
  return { seen, found };
}

function lease(version: string, spec: LeaseSpec): Lease {
  return { metadata: { name: 'l', uid: 'u', resourceVersion: version }, spec };
}

function heldBy(holderIdentity: string, version = '1', spec: LeaseSpec = {}): Lease {
  return lease(version, { holderIdentity, leaseDurationSeconds: 15, renewTime: version, leaseTransitions: 1, ...spec });
}

const RELEASED = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: 'r' };

describe('a Lease', () => {
  test('that was never looked at has no change to count from', () => {
    const seen = observer();
    expect([seen.lease, seen.changedAt, seen.termMax]).toEqual([undefined, undefined, 0]);
  });

  test('of another may be taken a whole lease after it was last seen to change', () => {
    const seen = observer();
    expect(seen.observe(heldBy('other'), 1000)).toBe(true);
    expect(seen.takeableAt).toBe(1000 + LEASE_MS + SPREAD_MS);
    expect(seen.observe(heldBy('other', '2'), 3000)).toBe(true);
    expect(seen.takeableAt).toBe(3000 + LEASE_MS + SPREAD_MS);
    expect(seen.changedAt).toBe(3000);
  });

  test('that was only touched has not changed', () => {
    const seen = observer();
    seen.observe(heldBy('other'), 1000);
    const touched = heldBy('other', '2', { renewTime: '1' });
    expect(seen.observe(touched, 3000)).toBe(false);
    expect(seen.lease).toBe(touched);
    expect(seen.takeableAt).toBe(1000 + LEASE_MS + SPREAD_MS);
  });

  test.each([
    [30, 30_000],
    [5, LEASE_MS],
  ])('whose holder writes %i s is waited out for the longer of that and our own', (leaseDurationSeconds, waitMs) => {
    const seen = observer();
    seen.observe(heldBy('other', '1', { leaseDurationSeconds }), 1000);
    expect(seen.takeableAt).toBe(1000 + waitMs + SPREAD_MS);
  });

  test('that is ours, or was released, may be taken at once', () => {
    for (const free of [heldBy('me'), lease('1', RELEASED)]) {
      const seen = observer();
      seen.observe(free, 1000);
      expect(seen.takeableAt).toBe(1000 + SPREAD_MS);
    }
  });

  test('that is not there may be created after a moment, for any earlier holder', () => {
    const seen = observer();
    seen.observe(heldBy('other'), 1000);
    seen.observeAbsence(2000);
    expect([seen.lease, seen.takeableAt]).toEqual([undefined, 2000 + ABSENCE_MS + SPREAD_MS]);
    // The same again is no news.
    seen.observeAbsence(3000);
    expect(seen.changedAt).toBe(2000);
  });

  test('that was made anew is waited out by who has ever seen a holder', () => {
    const seen = observer();
    seen.observe(heldBy('other'), 1000);
    seen.observeAbsence(2000);
    expect(seen.observe(lease('9', {}), 2500)).toBe(true);
    expect(seen.takeableAt).toBe(2500 + LEASE_MS + ABSENCE_MS + SPREAD_MS);
  });

  test('that was made just now is no news to a candidate that has just started, and does not make it wait anew', () => {
    const seen = observer();
    seen.observeAbsence(1000);
    expect(seen.observe(lease('9', {}), 1100)).toBe(false);
    expect(seen.takeableAt).toBe(1000 + ABSENCE_MS + SPREAD_MS);
  });

  test('whose record is older than the one that is known says nothing, unless it was asked for later', () => {
    const seen = observer();
    seen.observe(heldBy('other', '5'), 1000);
    expect(seen.observe(heldBy('me', '4'), 2000)).toBe(false);
    expect(seen.observe(heldBy('me', '4'), 2000, 999)).toBe(false);
    expect(seen.lease?.spec?.holderIdentity).toBe('other');
    // As after etcd was restored from a backup.
    expect(seen.observe(heldBy('me', '4'), 2000, 1000)).toBe(true);
    expect(seen.lease?.spec?.holderIdentity).toBe('me');
  });

  test('with an older version than was seen tells that the history went back, but for one that was asked for before', () => {
    const { seen, found } = historian();
    seen.observe(heldBy('me', '100'), 1000, 900);
    seen.observe(heldBy('me', '99'), 1100, 950);
    seen.observe(heldBy('me', '98'), 1100);
    expect(found.times).toBe(0);
    seen.observe(heldBy('me', '7'), 2000, 1500);
    seen.observe(heldBy('me', '8'), 2100, 2050);
    expect(found.times).toBe(1);
  });

  test('tells the highest term for good, also when it is deleted or set back', () => {
    const seen = observer();
    seen.observe(heldBy('other', '1', { leaseTransitions: 7 }), 1000);
    seen.observe(heldBy('other', '2', { leaseTransitions: 3 }), 2000);
    seen.observeAbsence(3000);
    expect(seen.termMax).toBe(7);
  });
});
