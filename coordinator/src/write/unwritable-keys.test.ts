import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import type { AskedKey, SkippedKey } from '../decide/intent/plan.ts';
import {
  REFUSED_FIRST_MS,
  REFUSED_MAX_MS,
  type SeenNode,
  SKIPPED_PER_NODE_MAX,
  UNSEEN_FOR_MS,
  UnwritableKeys,
} from './unwritable-keys.ts';

const owned = { labels: new Set<string>(), annotations: new Set<string>() };
const node: SeenNode = { name: 'n', uid: 'u', labels: {}, annotations: {}, owned };

function key(cause: SkippedKey['cause'], more: Partial<SkippedKey> = {}): SkippedKey {
  return { kind: 'label', key: 'k', cause, wanted: 'v', message: 'why', ...more };
}

/** Whether a key is out, as a plan for the Node asks and then takes note of it. */
function consult(unwritable: UnwritableKeys, seen: SeenNode, ref: AskedKey['ref'], wanted: string): boolean {
  const isOut = unwritable.asking(seen)?.(ref, wanted) !== undefined;
  expect(unwritable.asking(seen)?.(ref, wanted) !== undefined).toBe(isOut);
  unwritable.settle(seen, [{ ref, wanted }]);
  return isOut;
}

function started(...keys: SkippedKey[]) {
  const clock = new FakeClock();
  const unwritable = new UnwritableKeys(clock);
  unwritable.add(node, keys);
  const isOut = (seen: Partial<SeenNode> = {}, wanted = 'v', of = 'k') =>
    consult(unwritable, { ...node, ...seen }, { kind: 'label', key: of }, wanted);
  return { clock, unwritable, isOut };
}

describe('a foreign key', () => {
  test('is out while its value on the node stays the same, but is tried again within five minutes', async () => {
    const { clock, isOut, unwritable } = started(key('foreign'));
    expect(isOut({ labels: { k: 'theirs' } })).toBe(true);
    await clock.advance(REFUSED_MAX_MS - 1);
    expect([isOut({ labels: { k: 'theirs' } }), unwritable.dueInMs('n')]).toEqual([true, 1]);
    await clock.advance(1);
    expect(isOut({ labels: { k: 'theirs' } })).toBe(false);
    expect(unwritable.add(node, [key('foreign')])).toEqual([]);
  });

  test.each([
    ['changes', { k: 'other' }],
    ['disappears', {}],
    ['becomes what is wanted', { k: 'v' }],
  ])('is back when its value %s', (_what, labels) => {
    const { isOut } = started(key('foreign'));
    expect(isOut({ labels: { k: 'theirs' } })).toBe(true);
    expect(isOut({ labels })).toBe(false);
    expect(isOut({ labels })).toBe(false);
  });

  test('is back when the watch shows for the first time what it is', () => {
    const { isOut } = started(key('foreign'));
    expect(isOut()).toBe(true);
    expect(isOut()).toBe(true);
    expect(isOut({ labels: { k: 'theirs' } })).toBe(false);
  });

  test('is back after a while when its value never comes into view', async () => {
    const { clock, isOut, unwritable } = started(key('foreign'));
    expect(isOut()).toBe(true);
    expect(unwritable.dueInMs('n')).toBe(UNSEEN_FOR_MS);
    await clock.advance(UNSEEN_FOR_MS);
    expect(isOut()).toBe(false);
  });
});

describe('a foreign condition', () => {
  const ref = { kind: 'condition', key: 'c' } as const;
  const seenWith = (status: string, rival: string): SeenNode => ({
    ...node,
    conditions: [{ type: 'c', status }],
    conditionOwners: { ours: new Set(), rivals: new Map([['c', rival]]) },
  });

  test('is out while it is the same of the same owner', () => {
    const { unwritable } = started({ ...ref, cause: 'foreign', wanted: 'True', message: 'why' });
    const isOut = (seen: SeenNode) => consult(unwritable, seen, ref, 'True');
    expect(isOut(seenWith('False', 'npd'))).toBe(true);
    expect(isOut(seenWith('False', 'npd'))).toBe(true);
    expect(isOut(seenWith('False', 'other'))).toBe(false);
  });

  test('is back when its owner says something else', () => {
    const { unwritable } = started({ ...ref, cause: 'foreign', wanted: 'True', message: 'why' });
    const isOut = (seen: SeenNode) => consult(unwritable, seen, ref, 'True');
    expect(isOut(seenWith('False', 'npd'))).toBe(true);
    expect(isOut(seenWith('Unknown', 'npd'))).toBe(false);
  });
});

describe.each(['denied', 'invalid'] as const)('a key that is %s', (cause) => {
  test('is out for a moment at first, as the policy may be late', async () => {
    const { clock, isOut, unwritable } = started(key(cause));
    await clock.advance(REFUSED_FIRST_MS - 1);
    expect(isOut()).toBe(true);
    expect(unwritable.dueInMs('n')).toBe(1);
    await clock.advance(1);
    expect(isOut()).toBe(false);
  });

  test('is out for longer each time that it is refused again, for five minutes at last', async () => {
    const { clock, isOut, unwritable } = started();
    const lengths: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      unwritable.add(node, [key(cause)]);
      const dueMs = unwritable.dueInMs('n') ?? 0;
      lengths.push(dueMs);
      await clock.advance(dueMs);
      expect(isOut()).toBe(false);
    }
    expect(lengths).toEqual([
      2000,
      4000,
      8000,
      16_000,
      32_000,
      64_000,
      128_000,
      256_000,
      REFUSED_MAX_MS,
      REFUSED_MAX_MS,
    ]);
    unwritable.add(node, [key(cause, { wanted: 'other' })]);
    expect(unwritable.dueInMs('n')).toBe(REFUSED_FIRST_MS);
  });

  test('that was not wanted meanwhile is out for a moment only when it is refused again', async () => {
    const { clock, unwritable } = started(key(cause));
    await clock.advance(REFUSED_FIRST_MS);
    unwritable.settle(node, []);
    unwritable.add(node, [key(cause)]);
    expect(unwritable.dueInMs('n')).toBe(REFUSED_FIRST_MS);
  });

  test('is said to be due once, so that the caller does not look for ever', async () => {
    const { clock, unwritable } = started(key(cause));
    await clock.advance(REFUSED_FIRST_MS);
    expect(unwritable.dueInMs('n')).toBe(0);
    expect(unwritable.dueInMs('n')).toBeUndefined();
    expect(unwritable.counts).toEqual({ foreign: 0, invalid: 0, denied: 0 });
  });
});

describe('every key', () => {
  test.each(['foreign', 'invalid', 'denied'] as const)('that is %s is back when something else is wanted', (cause) => {
    const { isOut } = started(key(cause));
    expect(isOut({ labels: { k: 'theirs' } }, 'w')).toBe(false);
    expect(isOut({ labels: { k: 'theirs' } }, 'v')).toBe(false);
  });

  test('is forgotten when it is no longer asked for', () => {
    const { unwritable, isOut } = started(key('invalid'), key('invalid', { key: 'l' }));
    consult(unwritable, node, { kind: 'label', key: 'k' }, 'v');
    expect(unwritable.keysFor('n')).toEqual([key('invalid')]);
    expect(isOut({}, 'v', 'l')).toBe(false);
  });

  test('is forgotten with its node, and does not count against another of the same name', () => {
    const { unwritable, isOut } = started(key('invalid'));
    expect(isOut({ uid: 'other' })).toBe(false);
    expect(unwritable.keysFor('n')).toEqual([]);
    unwritable.add(node, [key('denied')]);
    unwritable.forget('n');
    expect(isOut()).toBe(false);
    expect(unwritable.counts).toEqual({ foreign: 0, invalid: 0, denied: 0 });
  });

  test('is a label or an annotation, and the two have nothing to do with each other', () => {
    const { unwritable, isOut } = started(key('foreign', { kind: 'annotation' }));
    expect(isOut()).toBe(false);
    unwritable.add(node, [key('foreign', { kind: 'annotation' })]);
    const seen = { ...node, labels: { k: 'x' }, annotations: { k: 'theirs' } };
    const ask = (of: SeenNode) => consult(unwritable, of, { kind: 'annotation', key: 'k' }, 'v');
    expect(ask(seen)).toBe(true);
    expect(ask({ ...seen, labels: {} })).toBe(true);
    expect(ask({ ...seen, annotations: {} })).toBe(false);
  });
});

describe('the memory', () => {
  test('of a node that was re-created begins anew', () => {
    const { unwritable } = started(key('foreign'));
    unwritable.add({ name: 'n', uid: 'new' }, [key('foreign', { key: 'l' })]);
    expect(unwritable.keysFor('n')).toEqual([key('foreign', { key: 'l' })]);
    expect(unwritable.counts).toEqual({ foreign: 1, invalid: 0, denied: 0 });
  });

  test('says which keys are new to it', () => {
    const { unwritable } = started(key('foreign'));
    expect(unwritable.add(node, [key('foreign'), key('foreign', { key: 'l' })])).toEqual([
      key('foreign', { key: 'l' }),
    ]);
    expect(unwritable.add(node, [key('foreign', { wanted: 'w' })])).toHaveLength(1);
  });

  test('counts keys by cause over all nodes', () => {
    const { unwritable } = started(key('foreign'), key('denied', { key: 'l' }));
    unwritable.add({ name: 'm', uid: 'w' }, [key('denied')]);
    unwritable.add(node, [key('invalid')]);
    expect(unwritable.counts).toEqual({ foreign: 0, invalid: 1, denied: 2 });
  });

  test('of one node is bounded', () => {
    const { unwritable } = started();
    const keys = Array.from({ length: SKIPPED_PER_NODE_MAX + 10 }, (_, index) => key('invalid', { key: `k${index}` }));
    expect(unwritable.add(node, keys)).toHaveLength(SKIPPED_PER_NODE_MAX);
    expect(unwritable.keysFor('n')).toHaveLength(SKIPPED_PER_NODE_MAX);
    expect(unwritable.add(node, keys.slice(-5))).toEqual([]);
  });
});
