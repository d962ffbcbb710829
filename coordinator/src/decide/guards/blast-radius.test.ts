import { describe, expect, test } from 'vitest';
import { AT_ONCE, BlastRadius, SETTLE_MS } from './blast-radius.ts';

const DELAY_MS = 60_000;
const names = Array.from({ length: 30 }, (_, index) => `n${index}`);

function leaving(guard: BlastRadius, { object = 'set', key = 'tier', nowMs = 0 } = {}): (number | undefined)[] {
  return names.map((name) => guard.holdsUntilMs({ node: name, key: key, object: object }, nowMs));
}

/** How many go at once. */
const gone = (answers: readonly (number | undefined)[]) => answers.filter((until) => until === undefined).length;

describe('a label that would leave many nodes', () => {
  test('leaves ten at once, and stays on the others for the delay', () => {
    const guard = new BlastRadius(DELAY_MS);
    const answers = leaving(guard);
    expect(gone(answers)).toBe(AT_ONCE);
    expect(new Set(answers.slice(AT_ONCE))).toEqual(new Set([DELAY_MS]));
    expect(guard.held()).toEqual([{ guard: 'blast-radius', of: 'tier', nodes: 20 }]);
    expect(leaving(guard, { nowMs: 30_000 })).toEqual(answers);
  });

  test('is told of where it stays on a single node', () => {
    const guard = new BlastRadius(DELAY_MS);
    for (const name of names.slice(0, AT_ONCE + 1)) guard.holdsUntilMs({ node: name, key: 'tier', object: 'set' }, 0);
    expect(guard.held()).toEqual([{ guard: 'blast-radius', of: 'tier', nodes: 1 }]);
  });

  test('leaves all of them then, and those that come late', () => {
    const guard = new BlastRadius(DELAY_MS);
    leaving(guard);
    expect(guard.tick(DELAY_MS - 1)).toEqual([]);
    expect(guard.tick(DELAY_MS)).toEqual(names.slice(AT_ONCE));
    expect(guard.held()).toEqual([]);
    expect(gone(leaving(guard, { nowMs: DELAY_MS }))).toBe(30);
    expect(guard.holdsUntilMs({ node: 'late', key: 'tier', object: 'set' }, DELAY_MS + 30_000)).toBeUndefined();
  });

  test('is delayed again when it would leave them another time', () => {
    const guard = new BlastRadius(DELAY_MS);
    leaving(guard);
    guard.tick(DELAY_MS);
    guard.tick(2 * DELAY_MS);
    expect(gone(leaving(guard, { nowMs: 2 * DELAY_MS }))).toBe(AT_ONCE);
  });

  test('is counted by its key', () => {
    const guard = new BlastRadius(DELAY_MS);
    leaving(guard);
    expect(gone(leaving(guard, { key: 'size' }))).toBe(AT_ONCE);
  });

  test('is held on none where what asks for it is back', () => {
    const guard = new BlastRadius(DELAY_MS);
    leaving(guard);
    for (const name of names) guard.settled(name, 'tier');
    expect([guard.held(), guard.tick(DELAY_MS)]).toEqual([[], []]);
  });

  test('goes at once without a delay', () => {
    expect(gone(leaving(new BlastRadius(0)))).toBe(30);
  });
});

describe('the change of one object', () => {
  test('takes effect on ten nodes, and on the others when no other has followed for half a second', () => {
    const guard = new BlastRadius(DELAY_MS);
    guard.changed(['set'], 0);
    const answers = leaving(guard);
    expect(gone(answers)).toBe(AT_ONCE);
    expect(new Set(answers.slice(AT_ONCE))).toEqual(new Set([500]));
    expect(guard.held()).toEqual([]);
    expect(guard.tick(SETTLE_MS - 1)).toEqual([]);
    expect(guard.tick(SETTLE_MS)).toEqual(names.slice(AT_ONCE));
    expect(gone(leaving(guard, { nowMs: SETTLE_MS }))).toBe(30);
  });

  test('is one of many where another follows sooner: the ten stay ten, and the others stay for the delay', () => {
    const guard = new BlastRadius(DELAY_MS);
    guard.changed(['set'], 0);
    leaving(guard);
    guard.changed(['other'], SETTLE_MS - 1);
    expect(guard.held()).toEqual([{ guard: 'blast-radius', of: 'tier', nodes: 20 }]);
    expect(guard.tick(SETTLE_MS)).toEqual([]);
    const answers = leaving(guard, { object: 'other', nowMs: SETTLE_MS });
    expect(gone(answers)).toBe(AT_ONCE);
    expect(new Set(answers.slice(AT_ONCE))).toEqual(new Set([DELAY_MS]));
    expect(guard.tick(DELAY_MS)).toEqual(names.slice(AT_ONCE));
  });

  test('is waited for again where it is changed again', () => {
    const guard = new BlastRadius(DELAY_MS);
    guard.changed(['set'], 0);
    guard.changed(['set'], 10_000);
    expect(gone(leaving(guard, { nowMs: 10_000 }))).toBe(AT_ONCE);
    expect(gone(leaving(guard, { nowMs: 10_000 + SETTLE_MS }))).toBe(30);
  });

  test('is waited for no longer than that of many', () => {
    const guard = new BlastRadius(100);
    guard.changed(['set'], 0);
    expect(leaving(guard).at(-1)).toBe(100);
    expect(guard.tick(100)).toEqual(names.slice(AT_ONCE));
  });

  test('leaves the ten to others, and their delay', () => {
    const guard = new BlastRadius(DELAY_MS);
    guard.changed(['set'], 0);
    leaving(guard);
    guard.tick(SETTLE_MS);
    const others = names.map((name) =>
      guard.holdsUntilMs({ node: `other ${name}`, key: 'tier', object: 'other' }, 1000),
    );
    expect(gone(others)).toBe(AT_ONCE);
    expect(others.at(-1)).toBe(1000 + DELAY_MS);
  });

  test('that was one of two stays one of two when the minute of the other is over', () => {
    const guard = new BlastRadius(10 * DELAY_MS);
    guard.changed(['other'], 0);
    guard.changed(['set'], 100);
    leaving(guard, { nowMs: 100 });
    expect(guard.tick(60_050)).toEqual([]);
    expect(gone(leaving(guard, { nowMs: 60_050 }))).toBe(AT_ONCE);
  });

  test('takes effect a minute after that of another, also where both had changed before', () => {
    const guard = new BlastRadius(DELAY_MS);
    for (const [object, nowMs] of [
      ['set', 0],
      ['other', 30_000],
      ['set', 90_001],
    ] as const) {
      guard.changed([object], nowMs);
    }
    expect(gone(leaving(guard, { nowMs: 95_000 }))).toBe(30);
  });

  test('takes effect for a minute, and is one of many after that', () => {
    for (const [nowMs, count] of [
      [60_000, 30],
      [60_001, AT_ONCE],
    ] as const) {
      const guard = new BlastRadius(DELAY_MS);
      guard.changed(['set'], 0);
      expect(gone(leaving(guard, { nowMs }))).toBe(count);
    }
  });

  test.each([
    ['of two within a minute', ['set', 'other']],
    ['of another', ['other']],
    ['of none that was seen', []],
  ])('does not, %s', (_what, objects) => {
    const guard = new BlastRadius(DELAY_MS);
    for (const object of objects) guard.changed([object], 0);
    expect(gone(leaving(guard, { nowMs: 1000 }))).toBe(AT_ONCE);
  });

  test('takes effect a minute after that of another', () => {
    const guard = new BlastRadius(DELAY_MS);
    guard.changed(['other'], 0);
    guard.changed(['set'], 61_000);
    expect(gone(leaving(guard, { nowMs: 61_000 + SETTLE_MS }))).toBe(30);
  });
});

test('a node that is gone is forgotten', () => {
  const guard = new BlastRadius(DELAY_MS);
  leaving(guard);
  for (const name of names) guard.forget(name);
  expect(guard.held()).toEqual([]);
});
