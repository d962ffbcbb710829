import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import type { SeenNode } from '../decide/intent/kinds/kind.ts';
import type { NodeKeyRef, SkippedCause } from '../decide/intent/plan.ts';
import {
  REFUSED_FIRST_MS,
  type RefusedKey,
  SKIPPED_MAX_MS,
  SKIPPED_PER_NODE_MAX,
  SkippedKeys,
  UNSEEN_FOR_MS,
} from './skipped-keys.ts';

const owned = { labels: new Set<string>(), annotations: new Set<string>() };
const NODE: SeenNode = { name: 'n', uid: 'u', labels: {}, annotations: {}, owned, taints: [], conditions: [] };
const LABEL = { kind: 'label', key: 'k' } as const;

function refusal(cause: RefusedKey['cause'], more: Partial<RefusedKey> = {}): RefusedKey {
  return { ...LABEL, cause, wanted: 'v', message: 'why', ...more };
}

function started(...keys: RefusedKey[]) {
  const clock = new FakeClock();
  const skipped = new SkippedKeys(clock);
  /** Why a key is left out of a plan for the Node as it is seen. The question changes nothing. */
  const causeOf = (
    seen: Partial<SeenNode> = {},
    asked: { wanted?: string | undefined; ref?: NodeKeyRef } = { wanted: 'v' },
  ) => {
    const ask = () => skipped.asking({ ...NODE, ...seen }).ask(asked.ref ?? LABEL, asked.wanted);
    const cause = ask();
    expect(ask()).toBe(cause);
    return cause;
  };
  /** The Node is looked at, and nothing has to be written but `wanted`; says whether it is left out. */
  const rest = (seen: Partial<SeenNode> = {}, wanted?: string) => {
    const node = { ...NODE, ...seen };
    skipped.observe(node);
    const { ask, leftOut } = skipped.asking(node);
    const isOut = wanted !== undefined && ask(LABEL, wanted) !== undefined;
    skipped.settle(node, leftOut);
    return isOut;
  };
  const write = (wanted: string | undefined, more: { held?: boolean; keepsAway?: boolean } = {}) =>
    skipped.wrote(NODE, [{ ...LABEL, wanted, held: true, keepsAway: false, ...more }]);
  const refuse = (...refused: RefusedKey[]) => skipped.refused(NODE, refused, { seen: NODE });
  refuse(...keys);
  return { clock, skipped, causeOf, rest, write, refuse };
}

describe('a foreign key', () => {
  const theirs = { labels: { k: 'theirs' } };
  function foreign() {
    const made = started();
    made.skipped.refused(NODE, [refusal('foreign')], { seen: { ...NODE, ...theirs } });
    return made;
  }

  test('is out while its value on the node stays the same, but is tried again within five minutes', async () => {
    const { clock, causeOf, skipped } = foreign();
    await clock.advance(SKIPPED_MAX_MS - 1);
    expect([causeOf(theirs), skipped.dueInMs('n')]).toEqual(['foreign', 1]);
    await clock.advance(1);
    expect(causeOf(theirs)).toBeUndefined();
    expect(skipped.refused(NODE, [refusal('foreign')])).toEqual([]);
  });

  test.each([
    ['changes', { k: 'other' }],
    ['disappears', {}],
    ['becomes what is wanted', { k: 'v' }],
  ])('is back when its value %s', (_what, labels) => {
    const { causeOf } = foreign();
    expect([causeOf(theirs), causeOf({ labels })]).toEqual(['foreign', undefined]);
  });

  test('is back when the watch shows for the first time what it is', () => {
    const { causeOf } = started(refusal('foreign'));
    expect([causeOf(), causeOf(theirs)]).toEqual(['foreign', undefined]);
  });

  test('is back after a while when its value never comes into view', async () => {
    const { clock, causeOf, skipped } = started(refusal('foreign'));
    expect([causeOf(), skipped.dueInMs('n')]).toEqual(['foreign', UNSEEN_FOR_MS]);
    await clock.advance(UNSEEN_FOR_MS);
    expect(causeOf()).toBeUndefined();
  });

  test('whose value goes on changing is tried three times in a minute, and then later and later', async () => {
    const { clock, skipped, causeOf } = started();
    const tried: number[] = [];
    for (let second = 0; second < 60; second += 1) {
      const seen = { ...NODE, labels: { k: `theirs ${second}` } };
      if (causeOf(seen) === undefined) {
        tried.push(second);
        skipped.refused(NODE, [refusal('foreign')], { seen });
      }
      await clock.advance(1000);
    }
    expect(tried).toEqual([0, 1, 2, 3, 4, 6, 10, 18, 34]);
  });

  test('that is seen to be foreign, without a request, is looked at again whenever it changes', () => {
    const { skipped, causeOf } = started();
    for (let count = 0; count < 10; count += 1) {
      const seen = { ...NODE, labels: { k: `theirs ${count}` } };
      expect(causeOf(seen)).toBeUndefined();
      skipped.refused(NODE, [refusal('foreign')], { seen, wasSent: false });
      expect(causeOf(seen)).toBe('foreign');
    }
  });
});

describe('a foreign condition', () => {
  const ref = { kind: 'condition', key: 'c' } as const;
  const seenWith = (status: string, rival: string) => ({
    ...NODE,
    conditions: [{ type: 'c', status }],
    conditionOwners: { ours: new Set<string>(), rivals: new Map([['c', rival]]) },
  });

  test.each([
    ['another owner has it', seenWith('False', 'other')],
    ['its owner says something else', seenWith('Unknown', 'npd')],
  ])('is out until %s', (_what, other) => {
    const { skipped, causeOf } = started();
    const seen = seenWith('False', 'npd');
    skipped.refused(NODE, [{ ...ref, cause: 'foreign', wanted: 'True', message: 'why' }], { seen });
    expect(causeOf(seen, { wanted: 'True', ref })).toBe('foreign');
    expect(causeOf(other, { wanted: 'True', ref })).toBeUndefined();
  });
});

describe.each([
  ['denied', 'v'],
  ['invalid', 'v'],
  ['denied', undefined],
  ['invalid', undefined],
] as const)('a key that is %s, with the value %s', (cause, wanted) => {
  const key = (more: Partial<RefusedKey> = {}) => refusal(cause, { wanted, ...more });
  const seen = { labels: { k: 'old' } };

  test('is out for a moment at first, as the policy may be late', async () => {
    const { clock, causeOf, skipped } = started(key());
    await clock.advance(REFUSED_FIRST_MS - 1);
    expect([causeOf(seen, { wanted }), skipped.dueInMs('n')]).toEqual([cause, 1]);
    await clock.advance(1);
    expect(causeOf(seen, { wanted })).toBeUndefined();
  });

  test.each([
    ['for five minutes at last', false, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]],
    ['for 8 s at most where it keeps pods away', true, [2, 4, 8, 8, 8, 8, 8, 8, 8, 8]],
  ])('is out for longer each time that it is refused again, %s', async (_what, keepsAway, seconds) => {
    const { clock, causeOf, refuse, skipped } = started();
    const lengths: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      refuse(key({ keepsAway }));
      const dueMs = skipped.dueInMs('n') ?? 0;
      lengths.push(dueMs / 1000);
      await clock.advance(dueMs);
      expect(causeOf(seen, { wanted })).toBeUndefined();
    }
    expect(lengths).toEqual(seconds);
    refuse(key({ wanted: 'other' }));
    expect(skipped.dueInMs('n')).toBe(REFUSED_FIRST_MS);
  });

  test('that was not wanted meanwhile is out for a moment only when it is refused again', async () => {
    const { clock, skipped, rest, refuse } = started(key());
    await clock.advance(REFUSED_FIRST_MS);
    rest(seen);
    refuse(key());
    expect(skipped.dueInMs('n')).toBe(REFUSED_FIRST_MS);
  });

  test('is out for a moment only when it is refused again after a write of it was taken', async () => {
    const { clock, skipped, write, refuse } = started(key());
    await clock.advance(REFUSED_FIRST_MS);
    write(wanted);
    expect(skipped.keysFor('n')).toEqual([]);
    refuse(key());
    expect(skipped.dueInMs('n')).toBe(REFUSED_FIRST_MS);
  });
});

test('a removal that was refused is out only where the key is there', () => {
  const { causeOf } = started(refusal('denied', { wanted: undefined }));
  const cause = (labels: Record<string, string>) => causeOf({ labels }, {});
  expect([cause({ k: 'v' }), cause({})]).toEqual(['denied', undefined]);
  expect(causeOf({ labels: { k: 'v' } }, { wanted: 'w' })).toBeUndefined();
});

test('a label and an annotation of one name have nothing to do with each other', () => {
  const { causeOf } = started(refusal('denied', { kind: 'annotation' }));
  expect([causeOf(), causeOf({}, { wanted: 'v', ref: { kind: 'annotation', key: 'k' } })]).toEqual([
    undefined,
    'denied',
  ]);
});

test('what is due for a while, and cannot be planned, is not looked at again and again', async () => {
  const { clock, skipped } = started(refusal('denied'));
  await clock.advance(REFUSED_FIRST_MS);
  // It may have become due just now, after the plan was made.
  expect(skipped.dueInMs('n')).toBe(50);
  await clock.advance(1000);
  expect(skipped.dueInMs('n')).toBeUndefined();
});

/** When a key is written that a rival changes back at once, in milliseconds. */
async function fight(forMs: number, keepsAway: boolean): Promise<number[]> {
  const { clock, write, causeOf, rest } = started();
  const beganMs = clock.monotonic();
  const writes: number[] = [];
  while (clock.monotonic() - beganMs < forMs) {
    if (causeOf() === undefined) {
      write('v', { keepsAway });
      writes.push(clock.monotonic() - beganMs);
    }
    rest({}, 'v');
    await clock.advance(10);
  }
  return writes;
}

describe('a key that is changed back at once', () => {
  test('is put right three times, and then later and later', async () => {
    const writes = await fight(3_600_000, false);
    const gaps = writes.slice(1).map((ms, index) => ms - (writes[index] ?? 0));
    const seconds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300];
    expect(gaps.slice(0, 14)).toEqual([10, 10, 10, ...seconds.map((each) => each * 1000)]);
    expect(gaps.slice(14).every((ms) => ms === 300_000)).toBe(true);
  }, 120_000);

  test('is tried at least every 10 s where that keeps pods away', async () => {
    const writes = await fight(600_000, true);
    const gaps = writes.slice(1).map((ms, index) => ms - (writes[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(10_000);
    expect(writes.length).toBeLessThan(600 / 8 + 8);
  });

  test('is written at once where something else is wanted', () => {
    const { write, causeOf } = started();
    for (let count = 0; count < 5; count += 1) write('v');
    expect([causeOf(), causeOf({}, { wanted: 'other' })]).toEqual(['contested', undefined]);
    write('other');
    expect([causeOf(), causeOf({}, { wanted: 'other' })]).toEqual([undefined, undefined]);
  });

  test('is another on a Node that was made anew', () => {
    const { skipped, write, causeOf } = started();
    for (let count = 0; count < 5; count += 1) write('v');
    expect([causeOf(), causeOf({ uid: 'another' })]).toEqual(['contested', undefined]);
    skipped.wrote({ name: 'n', uid: 'another' }, [{ ...LABEL, wanted: 'v', held: true, keepsAway: false }]);
    expect(skipped.remembered).toBe(1);
  });

  test('is contested from the moment at which the Node shows it, and not by a question', () => {
    const { skipped, write, causeOf } = started();
    expect(causeOf({ labels: { k: 'theirs' } })).toBeUndefined();
    for (let count = 0; count < 4; count += 1) write('v');
    expect(causeOf({ labels: { k: 'theirs' } })).toBe('contested');
    expect(causeOf({ labels: { k: 'v' } })).toBeUndefined();
    skipped.observe({ ...NODE, labels: { k: 'v' } });
    expect(skipped.counts.contested).toBe(0);
    skipped.observe({ ...NODE, labels: { k: 'theirs' } });
    expect(skipped.counts.contested).toBe(1);
  });

  test.each(['taint', 'condition'] as const)('is not contested by an answer that shows no %ss', (kind) => {
    const { skipped } = started();
    const written = { kind, key: 'k', wanted: 'True', held: true, keepsAway: true };
    for (let count = 0; count < 4; count += 1) skipped.wrote(NODE, [written]);
    skipped.observe({ ...NODE, taints: undefined, conditions: undefined });
    expect(skipped.counts.contested).toBe(0);
    skipped.observe(NODE);
    expect(skipped.counts.contested).toBe(1);
  });
});

test('a key that is changed back three times in a minute now and then is no contest', async () => {
  const { clock, skipped, write, causeOf, rest } = started();
  for (let count = 0; count < 20; count += 1) {
    rest({}, 'v');
    expect(causeOf()).toBeUndefined();
    write('v');
    await clock.advance(20_000);
  }
  expect(skipped.counts.contested).toBe(0);
});

test('a key that the answer does not show as it was written is contested at once, by admission', async () => {
  const { clock, skipped, write, causeOf } = started();
  await clock.advance(60_000);
  write('v', { held: false });
  await clock.advance(400);
  expect([skipped.counts.contested, causeOf()]).toEqual([1, 'contested']);
  const [news] = skipped.news('n');
  expect(news).toMatchObject({ key: LABEL, isAdmission: true });
  expect(news?.name(undefined)).toContain('webhook');
  expect(skipped.news('n')).toEqual([]);
  expect(skipped.keysFor('n')).toMatchObject([{ ...LABEL, cause: 'contested', wanted: 'v', nextTryMs: 600 }]);
  expect(skipped.keysFor('n')[0]?.rival).toContain('webhook');
});

test('the rival of a key is who is named, or unknown', () => {
  const { skipped, write, rest } = started();
  for (let count = 0; count < 4; count += 1) write('v');
  rest({}, 'v');
  expect(skipped.keysFor('n')[0]?.rival).toContain('does not name');
  expect(skipped.news('n').map(({ name }) => name('argo'))).toEqual(['argo']);
  expect(skipped.keysFor('n')).toMatchObject([{ rival: 'argo', message: 'argo changes it back' }]);
});

test('a contest ends when the key has stayed for a minute, also if the rival put it right', async () => {
  for (const isPutRight of [false, true]) {
    const { clock, skipped, write, rest } = started();
    for (let count = 0; count < 4; count += 1) write('v');
    expect([rest({}, 'v'), skipped.dueInMs('n')]).toEqual([true, 1000]);
    await clock.advance(1000);
    if (!isPutRight) write('v');
    rest({ labels: { k: 'v' } }, 'v');
    expect(skipped.dueInMs('n')).toBe(60_000);
    await clock.advance(60_000);
    rest({ labels: { k: 'v' } }, 'v');
    expect([skipped.dueInMs('n'), skipped.counts.contested]).toEqual([undefined, 0]);
  }
});

test('a key that is let go of and wanted again is no contest', () => {
  const { skipped, write, causeOf } = started();
  for (let count = 0; count < 20; count += 1) {
    expect(causeOf()).toBeUndefined();
    write('v');
    skipped.released('n', LABEL);
  }
  expect(skipped.counts.contested).toBe(0);
});

describe('every entry ends', () => {
  test.each<[SkippedCause, (made: ReturnType<typeof started>) => void]>([
    ['foreign', ({ refuse }) => refuse(refusal('foreign'))],
    ['invalid', ({ refuse }) => refuse(refusal('invalid'))],
    ['denied', ({ refuse }) => refuse(refusal('denied'))],
    ['contested', ({ write }) => write('v', { held: false })],
  ])(
    'by itself: one that is %s is tried again within five minutes, and forgotten where it is not',
    async (cause, make) => {
      const made = started();
      const { clock, skipped, causeOf } = made;
      // However often it was refused before.
      for (let count = 0; count < 20; count += 1) make(made);
      expect(causeOf()).toBe(cause);
      await clock.advance(SKIPPED_MAX_MS);
      expect(causeOf()).toBeUndefined();
      await clock.advance(60_000);
      skipped.tick();
      expect(skipped.remembered).toBe(0);
    },
  );

  test.each(['foreign', 'invalid', 'denied'] as const)('when something else is wanted: %s', (cause) => {
    const { causeOf, rest, skipped } = started(refusal(cause));
    expect(causeOf({}, { wanted: 'w' })).toBeUndefined();
    rest({}, 'w');
    expect([causeOf(), skipped.remembered]).toEqual([undefined, 0]);
  });

  test('when it is not wanted any more, and the Node has nothing to write', () => {
    const { skipped, rest } = started(refusal('invalid'), refusal('invalid', { key: 'l' }));
    expect(rest({}, 'v')).toBe(true);
    expect(skipped.keysFor('n')).toMatchObject([refusal('invalid')]);
  });

  test('with its Node, and does not count against another of the same name', () => {
    const { skipped, causeOf, refuse } = started(refusal('invalid'));
    expect(causeOf({ uid: 'other' })).toBeUndefined();
    skipped.refused({ name: 'n', uid: 'other' }, [refusal('foreign', { key: 'l' })]);
    expect(skipped.keysFor('n')).toMatchObject([refusal('foreign', { key: 'l' })]);
    refuse(refusal('denied'));
    skipped.forget('n');
    expect([causeOf(), skipped.remembered]).toEqual([undefined, 0]);
  });
});

describe('the memory', () => {
  test('says which keys are new to it', () => {
    const { refuse } = started(refusal('foreign'));
    expect(refuse(refusal('foreign'), refusal('foreign', { key: 'l' }))).toEqual([refusal('foreign', { key: 'l' })]);
    expect(refuse(refusal('foreign', { wanted: 'w' }))).toHaveLength(1);
  });

  test('counts keys by cause over all nodes', () => {
    const { skipped, refuse } = started(refusal('foreign'), refusal('denied', { key: 'l' }));
    skipped.refused({ name: 'm', uid: 'w' }, [refusal('denied')]);
    refuse(refusal('invalid'));
    expect(skipped.counts).toEqual({ foreign: 0, invalid: 1, denied: 2, contested: 0 });
  });

  test('of one node is bounded', () => {
    const { refuse, skipped } = started();
    const count = SKIPPED_PER_NODE_MAX + 10;
    const keys = Array.from({ length: count }, (_, index) => refusal('invalid', { key: `k${index}` }));
    expect(refuse(...keys)).toHaveLength(SKIPPED_PER_NODE_MAX);
    expect(skipped.keysFor('n')).toHaveLength(SKIPPED_PER_NODE_MAX);
    expect(refuse(...keys.slice(-5))).toEqual([]);
  });

  test('of keys that were written is bounded, and leaves room for those that are refused', () => {
    const { skipped, refuse } = started();
    for (let node = 0; node < 20; node += 1) {
      const keys = Array.from({ length: 4000 }, (_, index) => ({ kind: 'label' as const, key: `k${index}` }));
      const written = keys.map((ref) => ({ ...ref, wanted: 'v', held: false, keepsAway: false }));
      skipped.wrote({ name: `many-${node}`, uid: 'many' }, written);
    }
    expect(skipped.remembered).toBe(65_536);
    expect(refuse(refusal('denied'))).toHaveLength(1);
  });

  test('is looked through every ten seconds, and loses what was written a minute ago', async () => {
    const { clock, skipped, write } = started();
    await clock.advance(10_000);
    write('v');
    await clock.advance(50_000);
    skipped.tick();
    expect(skipped.remembered).toBe(1);
    await clock.advance(9999);
    skipped.tick();
    expect(skipped.remembered).toBe(1);
    await clock.advance(1);
    skipped.tick();
    expect(skipped.remembered).toBe(0);
  });
});
