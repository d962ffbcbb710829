import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import type { AskedKey, SetAsideKey } from '../decide/intent/plan.ts';
import {
  DENIED_FIRST_MS,
  DENIED_MAX_MS,
  SET_ASIDE_PER_NODE_MAX,
  type SeenNode,
  SetAside,
  UNSEEN_FOR_MS,
} from './set-aside.ts';

const owned = { labels: new Set<string>(), annotations: new Set<string>() };
const node: SeenNode = { name: 'n', uid: 'u', labels: {}, annotations: {}, owned };

function key(cause: SetAsideKey['cause'], more: Partial<SetAsideKey> = {}): SetAsideKey {
  return { kind: 'label', key: 'k', cause, wanted: 'v', message: 'why', ...more };
}

/** Whether a key is out, as a plan for the Node asks and then takes note of it. */
function consult(setAside: SetAside, seen: SeenNode, ref: AskedKey['ref'], wanted: string): boolean {
  const isOut = setAside.asking(seen)?.(ref, wanted) !== undefined;
  expect(setAside.asking(seen)?.(ref, wanted) !== undefined).toBe(isOut);
  setAside.settle(seen, [{ ref, wanted }]);
  return isOut;
}

function started(...keys: SetAsideKey[]) {
  const clock = new FakeClock();
  const setAside = new SetAside(clock);
  setAside.add(node, keys);
  const isOut = (seen: Partial<SeenNode> = {}, wanted = 'v', of = 'k') =>
    consult(setAside, { ...node, ...seen }, { kind: 'label', key: of }, wanted);
  return { clock, setAside, isOut };
}

describe('a foreign key', () => {
  test('is out while its value on the node stays the same', async () => {
    const { clock, isOut } = started(key('foreign'));
    expect(isOut({ labels: { k: 'theirs' } })).toBe(true);
    await clock.advance(86_400_000);
    expect(isOut({ labels: { k: 'theirs' } })).toBe(true);
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
    const { clock, isOut, setAside } = started(key('foreign'));
    expect(isOut()).toBe(true);
    expect(setAside.dueInMs('n')).toBe(UNSEEN_FOR_MS);
    await clock.advance(UNSEEN_FOR_MS);
    expect(isOut()).toBe(false);
  });

  test('is not due by time alone once its value was seen', () => {
    const { isOut, setAside } = started(key('foreign'));
    isOut({ labels: { k: 'theirs' } });
    expect(setAside.dueInMs('n')).toBeUndefined();
  });
});

describe('a foreign condition', () => {
  const ref = { kind: 'condition', key: 'c' } as const;
  const seenWith = (status: string, rival: string): SeenNode => ({
    ...node,
    conditions: [{ type: 'c', status }],
    conditionOwners: { rivals: new Map([['c', rival]]) },
  });

  test('is out while it is the same of the same owner', () => {
    const { setAside } = started({ ...ref, cause: 'foreign', wanted: 'True', message: 'why' });
    const isOut = (seen: SeenNode) => consult(setAside, seen, ref, 'True');
    expect(isOut(seenWith('False', 'npd'))).toBe(true);
    expect(isOut(seenWith('False', 'npd'))).toBe(true);
    expect(isOut(seenWith('False', 'other'))).toBe(false);
  });

  test('is back when its owner says something else', () => {
    const { setAside } = started({ ...ref, cause: 'foreign', wanted: 'True', message: 'why' });
    const isOut = (seen: SeenNode) => consult(setAside, seen, ref, 'True');
    expect(isOut(seenWith('False', 'npd'))).toBe(true);
    expect(isOut(seenWith('Unknown', 'npd'))).toBe(false);
  });
});

describe('an invalid key', () => {
  test('is out whatever is on the node and however long it takes', async () => {
    const { clock, isOut, setAside } = started(key('invalid'));
    await clock.advance(86_400_000);
    expect(isOut({ labels: { k: 'x' } })).toBe(true);
    expect(isOut()).toBe(true);
    expect(setAside.dueInMs('n')).toBeUndefined();
  });
});

describe('a denied key', () => {
  test('is out for a moment at first, as the policy may be late', async () => {
    const { clock, isOut, setAside } = started(key('denied'));
    await clock.advance(DENIED_FIRST_MS - 1);
    expect(isOut()).toBe(true);
    expect(setAside.dueInMs('n')).toBe(1);
    await clock.advance(1);
    expect(isOut()).toBe(false);
  });

  test('is out for longer each time that it is denied again, for five minutes at last', async () => {
    const { clock, isOut, setAside } = started();
    const lengths: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      setAside.add(node, [key('denied')]);
      const dueMs = setAside.dueInMs('n') ?? 0;
      lengths.push(dueMs);
      await clock.advance(dueMs);
      expect(isOut()).toBe(false);
    }
    expect(lengths).toEqual([2000, 16_000, 128_000, DENIED_MAX_MS, DENIED_MAX_MS]);
    setAside.add(node, [key('denied', { wanted: 'other' })]);
    expect(setAside.dueInMs('n')).toBe(DENIED_FIRST_MS);
  });

  test('that was not wanted meanwhile is out for a moment only when it is denied again', async () => {
    const { clock, setAside } = started(key('denied'));
    await clock.advance(DENIED_FIRST_MS);
    setAside.settle(node, []);
    setAside.add(node, [key('denied')]);
    expect(setAside.dueInMs('n')).toBe(DENIED_FIRST_MS);
  });

  test('is said to be due once, so that whoever looks again does not look for ever', async () => {
    const { clock, setAside } = started(key('denied'));
    await clock.advance(DENIED_FIRST_MS);
    expect(setAside.dueInMs('n')).toBe(0);
    expect(setAside.dueInMs('n')).toBeUndefined();
    expect(setAside.counts).toEqual({ foreign: 0, invalid: 0, denied: 0 });
  });
});

describe('every key', () => {
  test.each(['foreign', 'invalid', 'denied'] as const)('that is %s is back when something else is wanted', (cause) => {
    const { isOut } = started(key(cause));
    expect(isOut({ labels: { k: 'theirs' } }, 'w')).toBe(false);
    expect(isOut({ labels: { k: 'theirs' } }, 'v')).toBe(false);
  });

  test('is forgotten when it is no longer asked for', () => {
    const { setAside, isOut } = started(key('invalid'), key('invalid', { key: 'l' }));
    consult(setAside, node, { kind: 'label', key: 'k' }, 'v');
    expect(setAside.keysFor('n')).toEqual([key('invalid')]);
    expect(isOut({}, 'v', 'l')).toBe(false);
  });

  test('is forgotten with its node, and does not count against another of the same name', () => {
    const { setAside, isOut } = started(key('invalid'));
    expect(isOut({ uid: 'other' })).toBe(false);
    expect(setAside.keysFor('n')).toEqual([]);
    setAside.add(node, [key('denied')]);
    setAside.forget('n');
    expect(isOut()).toBe(false);
    expect(setAside.counts).toEqual({ foreign: 0, invalid: 0, denied: 0 });
  });

  test('is a label or an annotation, and the two have nothing to do with each other', () => {
    const { setAside, isOut } = started(key('foreign', { kind: 'annotation' }));
    expect(isOut()).toBe(false);
    setAside.add(node, [key('foreign', { kind: 'annotation' })]);
    const seen = { ...node, labels: { k: 'x' }, annotations: { k: 'theirs' } };
    const ask = (of: SeenNode) => consult(setAside, of, { kind: 'annotation', key: 'k' }, 'v');
    expect(ask(seen)).toBe(true);
    expect(ask({ ...seen, labels: {} })).toBe(true);
    expect(ask({ ...seen, annotations: {} })).toBe(false);
  });
});

describe('the memory', () => {
  test('of a node that was re-created begins anew', () => {
    const { setAside } = started(key('foreign'));
    setAside.add({ name: 'n', uid: 'new' }, [key('foreign', { key: 'l' })]);
    expect(setAside.keysFor('n')).toEqual([key('foreign', { key: 'l' })]);
    expect(setAside.counts).toEqual({ foreign: 1, invalid: 0, denied: 0 });
  });

  test('says which keys are new to it', () => {
    const { setAside } = started(key('foreign'));
    expect(setAside.add(node, [key('foreign'), key('foreign', { key: 'l' })])).toEqual([key('foreign', { key: 'l' })]);
    expect(setAside.add(node, [key('foreign', { wanted: 'w' })])).toHaveLength(1);
  });

  test('counts keys by cause over all nodes', () => {
    const { setAside } = started(key('foreign'), key('denied', { key: 'l' }));
    setAside.add({ name: 'm', uid: 'w' }, [key('denied')]);
    setAside.add(node, [key('invalid')]);
    expect(setAside.counts).toEqual({ foreign: 0, invalid: 1, denied: 2 });
  });

  test('of one node is bounded', () => {
    const { setAside } = started();
    const keys = Array.from({ length: SET_ASIDE_PER_NODE_MAX + 10 }, (_, index) =>
      key('invalid', { key: `k${index}` }),
    );
    expect(setAside.add(node, keys)).toHaveLength(SET_ASIDE_PER_NODE_MAX);
    expect(setAside.keysFor('n')).toHaveLength(SET_ASIDE_PER_NODE_MAX);
    expect(setAside.add(node, keys.slice(-5))).toEqual([]);
  });
});
