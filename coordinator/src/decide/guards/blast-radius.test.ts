import { describe, expect, test } from 'vitest';
import { AT_ONCE, BlastRadius, type Removal, SETTLE_MS } from './blast-radius.ts';

const DELAY_MS = 60_000;
const names = Array.from({ length: 30 }, (_, index) => `n${index}`);

/** A label is to leave a node. Until when it stays does not hang on how often it is asked. */
function leaves(guard: BlastRadius, removal: Removal, nowMs: number): number | undefined {
  const untilMs = guard.heldUntilMs(removal, nowMs);
  expect(guard.heldUntilMs(removal, nowMs)).toBe(untilMs);
  guard.record(removal, nowMs);
  expect(guard.heldUntilMs(removal, nowMs)).toBe(untilMs);
  return untilMs;
}

function leaving(guard: BlastRadius, { object = 'set', key = 'tier', nowMs = 0 } = {}): (number | undefined)[] {
  return names.map((name) => leaves(guard, { node: name, key: key, object: object }, nowMs));
}

/** How many go at once. */
const gone = (answers: readonly (number | undefined)[]) => answers.filter((until) => until === undefined).length;

describe('a label that would leave many nodes', () => {
  test('leaves ten at once, and stays on the others for the delay', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    const answers = leaving(guard);
    expect(gone(answers)).toBe(AT_ONCE);
    expect(new Set(answers.slice(AT_ONCE))).toEqual(new Set([DELAY_MS]));
    expect(guard.held(0)).toEqual([{ subject: 'configuration', of: 'tier', nodes: 20 }]);
    expect(leaving(guard, { nowMs: 30_000 })).toEqual(answers);
  });

  test('is reported while it stays on a single node', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    for (const name of names.slice(0, AT_ONCE + 1)) leaves(guard, { node: name, key: 'tier', object: 'set' }, 0);
    expect(guard.held(0)).toEqual([{ subject: 'configuration', of: 'tier', nodes: 1 }]);
  });

  test('leaves all of them then, and those that come late', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    leaving(guard);
    expect(guard.tick(DELAY_MS - 1)).toEqual([]);
    expect(guard.tick(DELAY_MS)).toEqual(names.slice(AT_ONCE));
    expect(guard.held(DELAY_MS)).toEqual([]);
    expect(gone(leaving(guard, { nowMs: DELAY_MS }))).toBe(30);
    expect(leaves(guard, { node: 'late', key: 'tier', object: 'set' }, DELAY_MS + 30_000)).toBeUndefined();
  });

  test('is delayed again when it would leave them another time', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    leaving(guard);
    guard.tick(DELAY_MS);
    guard.tick(2 * DELAY_MS);
    expect(gone(leaving(guard, { nowMs: 2 * DELAY_MS }))).toBe(AT_ONCE);
  });

  test('is delayed again, however soon, once it was back on a node', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    leaving(guard);
    guard.tick(DELAY_MS);
    // One of them is another Node by now, and has it no more.
    for (const name of names.slice(1)) guard.returned(name, 'tier');
    expect(gone(leaving(guard, { nowMs: DELAY_MS + 20_000 }))).toBe(AT_ONCE);
  });

  test('is counted by its key', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    leaving(guard);
    expect(gone(leaving(guard, { key: 'size' }))).toBe(AT_ONCE);
  });

  test('is held on none where what asks for it is back', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    leaving(guard);
    for (const name of names) guard.settled(name, 'tier');
    expect([guard.held(0), guard.tick(DELAY_MS)]).toEqual([[], []]);
  });

  test('goes at once without a delay', () => {
    expect(gone(leaving(new BlastRadius(0, () => names)))).toBe(30);
  });
});

describe('the change of one object', () => {
  test('takes effect on ten nodes, and on the others when no other has followed for half a second', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    guard.changed(['set'], 0);
    const answers = leaving(guard);
    expect(gone(answers)).toBe(AT_ONCE);
    expect(new Set(answers.slice(AT_ONCE))).toEqual(new Set([500]));
    expect(guard.held(0)).toEqual([]);
    expect(guard.tick(SETTLE_MS - 1)).toEqual([]);
    expect(guard.tick(SETTLE_MS)).toEqual(names.slice(AT_ONCE));
    expect(gone(leaving(guard, { nowMs: SETTLE_MS }))).toBe(30);
  });

  test('is one of many where another follows sooner: the ten stay ten, and the others stay for the delay', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    guard.changed(['set'], 0);
    leaving(guard);
    guard.changed(['other'], SETTLE_MS - 1);
    expect(guard.held(SETTLE_MS - 1)).toEqual([{ subject: 'configuration', of: 'tier', nodes: 20 }]);
    expect(guard.tick(SETTLE_MS)).toEqual([]);
    const answers = leaving(guard, { object: 'other', nowMs: SETTLE_MS });
    expect(gone(answers)).toBe(AT_ONCE);
    expect(new Set(answers.slice(AT_ONCE))).toEqual(new Set([DELAY_MS]));
    expect(guard.tick(DELAY_MS)).toEqual(names.slice(AT_ONCE));
  });

  test('is waited for again where it is changed again', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    guard.changed(['set'], 0);
    guard.changed(['set'], 10_000);
    expect(gone(leaving(guard, { nowMs: 10_000 }))).toBe(AT_ONCE);
    expect(gone(leaving(guard, { nowMs: 10_000 + SETTLE_MS }))).toBe(30);
  });

  test('waits no longer than a change of many objects', () => {
    const guard = new BlastRadius(100, () => names);
    guard.changed(['set'], 0);
    expect(leaving(guard).at(-1)).toBe(100);
    expect(guard.tick(100)).toEqual(names.slice(AT_ONCE));
  });

  test('leaves the ten to others, and their delay', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    guard.changed(['set'], 0);
    leaving(guard);
    guard.tick(SETTLE_MS);
    const others = names.map((name) => leaves(guard, { node: `other ${name}`, key: 'tier', object: 'other' }, 1000));
    expect(gone(others)).toBe(AT_ONCE);
    expect(others.at(-1)).toBe(1000 + DELAY_MS);
  });

  test('that was one of two stays one of two when the minute of the other is over', () => {
    const guard = new BlastRadius(10 * DELAY_MS, () => names);
    guard.changed(['other'], 0);
    guard.changed(['set'], 100);
    leaving(guard, { nowMs: 100 });
    expect(guard.tick(60_050)).toEqual([]);
    expect(gone(leaving(guard, { nowMs: 60_050 }))).toBe(AT_ONCE);
  });

  test('takes effect a minute after the change of another object, also where both had changed before', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
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
      const guard = new BlastRadius(DELAY_MS, () => names);
      guard.changed(['set'], 0);
      expect(gone(leaving(guard, { nowMs }))).toBe(count);
    }
  });

  test.each([
    ['of two within a minute', ['set', 'other']],
    ['of another', ['other']],
    ['of none that was seen', []],
  ])('does not, %s', (_what, objects) => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    for (const object of objects) guard.changed([object], 0);
    expect(gone(leaving(guard, { nowMs: 1000 }))).toBe(AT_ONCE);
  });

  test.each(['service:uid', 'label example.com/a'])('is what the first node shows that misses %s', (object) => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    const answers = leaving(guard, { object });
    expect(gone(answers)).toBe(AT_ONCE);
    expect(new Set(answers.slice(AT_ONCE))).toEqual(new Set([SETTLE_MS]));
    expect(gone(leaving(guard, { object, nowMs: SETTLE_MS }))).toBe(30);
  });

  test('takes effect a minute after the change of another object', () => {
    const guard = new BlastRadius(DELAY_MS, () => names);
    guard.changed(['other'], 0);
    guard.changed(['set'], 61_000);
    expect(gone(leaving(guard, { nowMs: 61_000 + SETTLE_MS }))).toBe(30);
  });
});

describe('a label that would leave a share of its nodes', () => {
  /** Of so many nodes with the label, so many are to lose it. Returns how many do, at once and when that is known. */
  function losing(count: number, of: number, guard = fleetOf(of)) {
    const lost = () => gone(range(count).map((node) => leaves(guard, { node, key: 'tier', object: undefined }, now)));
    let now = 0;
    const atOnce = lost();
    now = SETTLE_MS;
    const ticked = guard.tick(now).length;
    return { guard, atOnce, settled: lost(), ticked };
  }
  const range = (to: number, from = 0) => Array.from({ length: to - from }, (_, index) => `n${from + index}`);
  const fleetOf = (count: number, delayMs = DELAY_MS) => new BlastRadius(delayMs, () => range(count));

  test.each([
    // No more than 10: at once.
    [3, 20, 3, 3],
    [10, 10, 10, 10],
    // More than 10, and more than 20 %.
    [11, 20, 10, 10],
    [11, 40, 10, 10],
    [12, 59, 10, 10],
    [5000, 5000, 10, 10],
    [1001, 5000, 10, 10],
    // More than 10, but no more than 20 %.
    [11, 55, 10, 11],
    [12, 60, 10, 12],
    [1000, 5000, 10, 1000],
  ])('%i of %i: leaves %i at once, and %i when no others follow', (count, of, atOnce, settled) => {
    expect(losing(count, of)).toMatchObject({ atOnce, settled, ticked: settled - atOnce });
  });

  test('is reported as delayed only where it would leave more', () => {
    const few = fleetOf(100);
    for (const node of range(20)) leaves(few, { node, key: 'tier', object: undefined }, 0);
    expect(few.held(0)).toEqual([]);
    leaves(few, { node: 'n20', key: 'tier', object: undefined }, 0);
    expect(few.held(0)).toEqual([{ subject: 'configuration', of: 'tier', nodes: 11 }]);
  });

  test('waits as long as further nodes follow, also where they are evaluated one after the other', () => {
    const guard = fleetOf(100);
    range(20).forEach((node, index) => {
      leaves(guard, { node, key: 'tier', object: undefined }, 100 * index);
      expect(guard.tick(100 * index)).toEqual([]);
    });
    expect(guard.tick(1900 + SETTLE_MS - 1)).toEqual([]);
    expect(guard.tick(1900 + SETTLE_MS)).toEqual(range(20, AT_ONCE));
  });

  test('counts those that lost it within the last minute, and lets the next ones wait for the whole delay', () => {
    const { guard, settled } = losing(20, 100);
    expect(settled).toBe(20);
    const next = { node: 'n20', key: 'tier', object: undefined };
    expect(leaves(guard, next, 30_000)).toBe(30_000 + DELAY_MS);
    expect(guard.tick(60_500 + SETTLE_MS)).toEqual([]);
    expect(guard.tick(30_000 + DELAY_MS)).toEqual(['n20']);
  });

  test('does not count nodes that lost it more than a minute ago', () => {
    const { guard } = losing(20, 100);
    guard.tick(SETTLE_MS + 60_001);
    expect(gone(leaving(guard, { nowMs: SETTLE_MS + 60_001 }))).toBe(AT_ONCE);
  });

  test('is not let go by a few that lost it less than two minutes before', () => {
    const guard = fleetOf(30);
    leaves(guard, { node: 'n0', key: 'tier', object: undefined }, 0);
    for (const nowMs of [59_000, 61_000, 90_000]) {
      guard.tick(nowMs);
      const answers = leaving(guard, { nowMs });
      expect(gone(answers)).toBe(AT_ONCE);
    }
  });

  test('stays on those that wait, although many nodes with the label join', () => {
    let count = 30;
    const guard = new BlastRadius(DELAY_MS, () => range(count));
    leaving(guard);
    count = 1000;
    expect(guard.tick(10_000)).toEqual([]);
    expect(gone(leaving(guard, { nowMs: 10_000 }))).toBe(AT_ONCE);
  });

  test('leaves all of them at once without a delay', () => {
    expect(losing(5000, 5000, fleetOf(5000, 0)).atOnce).toBe(5000);
  });

  test('keeps no more than ten away from it while the others wait, however long the delay', () => {
    const guard = new BlastRadius(10 * DELAY_MS, () => range(30));
    for (let nowMs = 0; nowMs < 10 * DELAY_MS; nowMs += 30_000) {
      expect(gone(leaving(guard, { nowMs }))).toBe(AT_ONCE);
      guard.tick(nowMs);
    }
    expect(gone(leaving(guard, { nowMs: 10 * DELAY_MS }))).toBe(30);
  });
});

test('a node that is gone is forgotten', () => {
  const guard = new BlastRadius(DELAY_MS, () => names);
  leaving(guard);
  for (const name of names) guard.forget(name);
  expect(guard.held(0)).toEqual([]);
});
