import { describe, expect, test } from 'vitest';
import type {
  ConditionChange,
  ForeignKey,
  NodePlan,
  NodeSet,
  NodeWithdrawal,
  TaintChange,
} from '../decide/intent/plan.ts';
import type { WriteOutcome } from './classify.ts';
import { nodeOf } from './leaving-out.test-fixtures.ts';
import { CONDITION, CONDITIONS, type Kind, NODE, started, TAINTS } from './node-turn.test-fixtures.ts';
import { PROBES_MAX } from './refused-keys.ts';
import { REFUSED_FIRST_MS } from './skipped-keys.ts';
import { set, withdrawal } from './write-queue.test-fixtures.ts';

/** One turn of one Node: what is written in which order, and how it ends. When turns come is the write queue's. */

describe('the order', () => {
  test('is what keeps pods away first, then what is withdrawn, then the rest', async () => {
    const { turn, written } = started({ set, withdrawal, taints: TAINTS, conditions: CONDITIONS });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(written).toEqual(['taints', 'conditions', 'withdraw', 'set']);
    expect(turn.wrote).toBe(true);
  });

  test('has conditions that keep no pods away, and taints that only go, after the set', async () => {
    const taints = { ...TAINTS, add: [], remove: ['t'] };
    const { turn, written } = started({ set, taints, conditions: { ...CONDITIONS, keepsAway: false } });
    await turn.run();
    expect(written).toEqual(['set', 'taints', 'conditions']);
  });

  test('has a label that goes ahead before everything, and the rest of an urgent node in another turn', async () => {
    const { turn, written } = started({ set, withdrawal, ahead: ['ready'] }, { priority: 'urgent' });
    expect(await turn.run()).toEqual({ kind: 'again', priority: 'normal' });
    expect(written).toEqual(['withdraw']);
  });

  test('of an urgent node goes on to the taint and the condition that keep pods away', async () => {
    const parts = { set, withdrawal, ahead: ['ready'], taints: TAINTS, conditions: CONDITIONS };
    const { turn, written } = started(parts, { priority: 'urgent' });
    expect(await turn.run()).toEqual({ kind: 'again', priority: 'normal' });
    expect(written).toEqual(['withdraw', 'taints', 'conditions']);
  });

  test('of an urgent node goes on to the taint alone, and the rest is for another turn', async () => {
    const parts = { set, withdrawal, ahead: ['ready'], taints: TAINTS };
    const { turn, written } = started(parts, { priority: 'urgent' });
    expect(await turn.run()).toEqual({ kind: 'again', priority: 'normal' });
    expect(written).toEqual(['withdraw', 'taints']);
  });

  test('has conditions that are only given up after the set', async () => {
    const conditions: ConditionChange = { write: 'disown', entry: 0 };
    const { turn, written } = started({ set, withdrawal, conditions });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(written).toEqual(['withdraw', 'set', 'conditions']);
  });

  test('waits for conditions that are not due', async () => {
    const { turn, written } = started({ conditions: { ...CONDITIONS, due: false } });
    expect([await turn.run(), written]).toEqual([{ kind: 'holds' }, []]);
  });
});

describe('a refusal', () => {
  test.each(['invalid', 'denied'] as const)(
    'of taints as a whole (%s) leaves the rest to be written, and is tried again',
    async (kind) => {
      const refusal: WriteOutcome = { kind, keys: [], message: 'no taints' };
      const reply = (write: Kind) => (write === 'taints' ? refusal : undefined);
      const { turn, written, told } = started({ set, taints: TAINTS }, { reply });
      expect(await turn.run()).toMatchObject({ kind: 'retry', error: { code: 'WRITE_REFUSED', message: 'no taints' } });
      // The second rehearses a change of no taint.
      expect([written, told]).toEqual([['taints', 'taints', 'set'], []]);
    },
  );

  test.each([
    ['invalid', 'bad', 'true:NoSchedule', true],
    ['denied', 'bad', 'true:NoSchedule', true],
    ['denied', 'old', undefined, false],
  ] as const)('of one taint (%s: %s) leaves the others to be written', async (kind, key, wanted, keepsAway) => {
    const taintOf = (each: string) => ({ key: each, value: 'true', effect: 'NoSchedule' });
    const taints: TaintChange = { add: [taintOf('bad'), taintOf('good')], remove: ['old'], observed: [taintOf('old')] };
    const keysOf = ({ add, remove }: TaintChange) => [...add.map((each) => each.key), ...remove];
    const reply = (_kind: Kind, _count: number, change: unknown): WriteOutcome | undefined =>
      keysOf(change as TaintChange).includes(key) ? { kind, keys: [], message: 'not it' } : undefined;
    const { turn, changes, told, skipped, clock } = started({ taints }, { reply });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(keysOf(changes.at(-1) as TaintChange)).toEqual(['bad', 'good', 'old'].filter((each) => each !== key));
    expect(told).toEqual([[{ kind: 'taint', key, cause: kind, wanted, message: 'not it', keepsAway }]]);
    expect(skipped.keysFor('n').find((each) => each.key === key)?.nextTryMs).toBe(REFUSED_FIRST_MS);
    await clock.advance(REFUSED_FIRST_MS);
    expect(skipped.asking(nodeOf({ node: NODE, taints })).ask({ kind: 'taint', key }, wanted)).toBeUndefined();
  });

  test('of conditions that go leaves the rest to be written', async () => {
    const refusal: WriteOutcome = { kind: 'denied', message: 'no conditions' };
    const conditions: ConditionChange = { write: 'remove', conditions: [{ type: 'c', index: 0 }] };
    const reply = (write: Kind) => (write === 'conditions' ? refusal : undefined);
    const { turn, written } = started({ withdrawal, conditions }, { reply });
    expect(await turn.run()).toMatchObject({ kind: 'retry', error: { message: 'no conditions' } });
    expect(written).toEqual(['withdraw', 'conditions', 'conditions']);
  });

  test('of one condition that goes leaves the others to go', async () => {
    const going = ['stuck', 'loose'].map((type, index) => ({ type, index }));
    const reply = (_kind: Kind, _count: number, change: unknown): WriteOutcome | undefined =>
      (change as { conditions: typeof going }).conditions.some(({ type }) => type === 'stuck')
        ? { kind: 'denied', message: 'no' }
        : undefined;
    const { turn, changes, told } = started({ conditions: { write: 'remove', conditions: going } }, { reply });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(changes.at(-1)).toEqual({ write: 'remove', conditions: [going[1]] });
    expect(told).toMatchObject([[{ kind: 'condition', key: 'stuck', cause: 'denied', wanted: undefined }]]);
  });

  test.each(['invalid', 'denied'] as const)('to remove a key (%s) leaves the others to be removed', async (kind) => {
    const taken: unknown[] = [];
    const reply = (_write: Kind, _count: number, change: unknown): WriteOutcome | undefined => {
      const { labels } = change as NodeWithdrawal;
      if (labels.includes('stuck')) return { kind, keys: [], message: 'stuck stays' };
      taken.push(labels);
      return undefined;
    };
    const labels = ['loose', 'stuck', 'free'];
    const { turn, skipped } = started({ withdrawal: { labels, annotations: [] } }, { reply });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(taken.at(-1)).toEqual(['loose', 'free']);
    const key = { kind: 'label', key: 'stuck', cause: kind, wanted: undefined, message: 'stuck stays' };
    expect(skipped.keysFor('n')).toEqual([{ ...key, nextTryMs: REFUSED_FIRST_MS }]);
  });

  test('that names malformed keys skips them without a search', async () => {
    const invalid: WriteOutcome = { kind: 'invalid', keys: [{ kind: 'label', key: 'a' }], message: 'malformed' };
    const reply = (_kind: Kind, count: number) => (count === 1 ? invalid : undefined);
    const { turn, written, told } = started({ set: { ...set, labels: { a: '1', b: '1' } } }, { reply });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(told).toMatchObject([[{ kind: 'label', key: 'a', cause: 'invalid', wanted: '1', message: 'malformed' }]]);
    expect(written).toEqual(['set', 'set']);
  });

  test.each(['invalid', 'denied'] as const)('that names no key (%s) is searched for the key', async (kind) => {
    const reply = (_write: Kind, _count: number, change: unknown): WriteOutcome | undefined =>
      'bad' in (change as NodeSet).labels ? { kind, keys: [], message: 'not this' } : undefined;
    const { turn, told } = started({ set: { ...set, labels: { a: '1', bad: '1', c: '1' } } }, { reply });
    await turn.run();
    expect(told).toMatchObject([[{ kind: 'label', key: 'bad', cause: kind, wanted: '1', message: 'not this' }]]);
  });

  test.each([
    ['invalid', true],
    ['invalid', false],
    ['denied', true],
    ['denied', false],
  ] as const)(
    'of a condition (%s, which keeps pods away: %s) is searched for the condition',
    async (kind, keepsAway) => {
      const good = { ...CONDITION, type: 'good' };
      const conditions = { ...CONDITIONS, conditions: [CONDITION, good], news: ['c', 'good'], keepsAway };
      const reply = (_write: Kind, _count: number, change: unknown): WriteOutcome | undefined =>
        (change as typeof conditions).conditions.some(({ type }) => type === 'c')
          ? { kind, keys: [], message: 'not this' }
          : undefined;
      const { turn, told } = started({ conditions }, { reply });
      await turn.run();
      const key = { kind: 'condition', key: 'c', cause: kind, wanted: 'False', message: 'not this' };
      expect(told).toMatchObject([[key]]);
    },
  );

  test('for a condition of another manager skips it, and reports that', async () => {
    const conflict: WriteOutcome = {
      kind: 'conflict',
      foreign: [{ ref: { kind: 'condition', key: 'c' }, owner: 'npd' }],
    };
    const reply = (_kind: Kind, count: number) => (count === 1 ? conflict : undefined);
    const { turn, told, skipped } = started({ conditions: CONDITIONS }, { reply });
    await turn.run();
    const key = { kind: 'condition', key: 'c', cause: 'foreign', wanted: 'False', message: 'owned by npd' };
    expect(told).toMatchObject([[key]]);
    expect(skipped.keysFor('n')).toMatchObject([key]);
  });

  test('for a condition of our own that another manager has just changed waits for the watch, and drops none', async () => {
    const conflict: WriteOutcome = {
      kind: 'conflict',
      foreign: [{ ref: { kind: 'condition', key: 'c' }, owner: 'kubectl-edit' }],
    };
    const owned = { labels: new Set<string>(), annotations: new Set<string>() };
    const conditionOwners = { ours: new Set(['c']), rivals: new Map() };
    const seen = { name: 'n', uid: 'u', labels: {}, annotations: {}, owned, conditionOwners };
    const { turn, told, written } = started({ conditions: CONDITIONS }, { reply: () => conflict, seen });
    expect(await turn.run()).toEqual({ kind: 'retry', error: undefined });
    expect([written, told]).toEqual([['conditions'], []]);
  });

  test('for a label of another manager skips it, and costs no request more', async () => {
    const conflict: WriteOutcome = { kind: 'conflict', foreign: [{ ref: { kind: 'label', key: 'a' }, owner: 'x' }] };
    const { turn, written, skipped, told } = started({ set }, { reply: () => conflict });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(written).toEqual(['set']);
    const key = { kind: 'label', key: 'a', wanted: '1', message: 'owned by x' };
    expect(skipped.keysFor('n')).toMatchObject([key]);
    expect(told).toMatchObject([[key]]);
  });

  test.each<[WriteOutcome, object]>([
    [{ kind: 'gone' }, { kind: 'gone' }],
    [{ kind: 'stale' }, { kind: 'retry' }],
    [
      { kind: 'throttled', retryAfterMs: 1000, isForAll: true },
      { kind: 'later', priority: 'normal', delayMs: 1000 },
    ],
  ])('for a Node that is %j ends the turn', async (outcome, end) => {
    const { turn, written } = started({ set, withdrawal }, { reply: () => outcome });
    expect(await turn.run()).toMatchObject(end);
    expect([written, turn.wrote]).toEqual([['withdraw'], false]);
  });

  test('of whatever there is in it is tried again later, and not at once', async () => {
    const { turn, written } = started({ set }, { reply: () => ({ kind: 'denied', message: 'nothing at all' }) });
    expect(await turn.run()).toMatchObject({
      kind: 'retry',
      error: { code: 'WRITE_REFUSED', message: 'nothing at all' },
    });
    // The write, and a rehearsal of one that changes nothing.
    expect(written).toEqual(['set', 'set']);
  });

  test.each<['set' | 'withdraw', Partial<NodePlan>]>([
    ['set', { set: { ...set, labels: { a: '1', b: '2', c: '3' } } }],
    ['withdraw', { withdrawal: { labels: ['a', 'b', 'c'], annotations: [] } }],
  ])('is not searched for (%s) while something urgent waits', async (kind, parts) => {
    const denied: WriteOutcome = { kind: 'denied', message: 'no' };
    const yielding = started(parts, {
      reply: (_write, count) => {
        if (count === 1) yielding.replan({ ...parts, taints: TAINTS });
        return count === 1 ? denied : undefined;
      },
    });
    await yielding.turn.run();
    expect(yielding.written.slice(0, 2)).toEqual([kind, 'taints']);
  });

  test('is searched for while nothing waits but a taint that goes', async () => {
    const reply = (_write: Kind, count: number): WriteOutcome | undefined => {
      if (count > 1) return undefined;
      freed.replan({ taints: { ...TAINTS, add: [], remove: ['t'] } });
      return { kind: 'denied', message: 'no' };
    };
    const freed = started({ set: { ...set, labels: { a: '1', b: '2' } } }, { reply });
    await freed.turn.run();
    expect(freed.written).toEqual(['set', 'set', 'set', 'set', 'taints']);
  });

  test('of conditions that cannot be searched for now is no refusal of conditions', async () => {
    const outcomes: WriteOutcome[] = [
      { kind: 'denied', message: 'no' },
      { kind: 'throttled', retryAfterMs: 1000, isForAll: true },
    ];
    const { turn, written } = started({ conditions: CONDITIONS }, { reply: (_write, count) => outcomes[count - 1] });
    expect(await turn.run()).toEqual({ kind: 'later', priority: 'normal', delayMs: 1000 });
    expect(written).toEqual(['conditions', 'conditions']);
  });

  test('of a set that cannot be searched for now ends the turn, and is no refusal of the set', async () => {
    const outcomes: WriteOutcome[] = [
      { kind: 'denied', message: 'no' },
      { kind: 'throttled', retryAfterMs: 1000, isForAll: true },
    ];
    const labels = { a: '1', b: '2' };
    const { turn, written, told } = started(
      { set: { ...set, labels } },
      { reply: (_write, count) => outcomes[count - 1] },
    );
    expect(await turn.run()).toEqual({ kind: 'later', priority: 'normal', delayMs: 1000 });
    expect([written, told]).toEqual([['set', 'set'], []]);
  });

  test('for a taint, which cannot be applied, skips nothing, and is tried again with the next version', async () => {
    const conflict: WriteOutcome = { kind: 'conflict', foreign: [{ ref: { kind: 'label', key: 'a' }, owner: 'x' }] };
    const { turn, written, told } = started({ set, taints: TAINTS }, { reply: () => conflict });
    expect(await turn.run()).toEqual({ kind: 'retry', error: undefined });
    expect([written, told]).toEqual([['taints'], []]);
  });

  test('for a map that another manager owns has it taken by force, and the Node looked at again', async () => {
    const forced: unknown[] = [];
    const reply = (_write: Kind, count: number, change: unknown): WriteOutcome | undefined => {
      forced.push((change as NodeSet).force);
      return count === 1 ? { kind: 'conflict', foreign: [] } : undefined;
    };
    const { turn, skipped } = started({ set }, { reply });
    expect(await turn.run()).toEqual({ kind: 'again', priority: 'normal' });
    expect([forced, turn.wrote]).toEqual([[false, true], true]);
    expect(skipped.remembered).toBeGreaterThan(0);
  });

  test('for a map that another manager owns, of a Node that goes meanwhile, ends the turn', async () => {
    const outcomes: WriteOutcome[] = [{ kind: 'conflict', foreign: [] }, { kind: 'gone' }];
    const { turn, written } = started({ set }, { reply: (_write, count) => outcomes[count - 1] });
    expect(await turn.run()).toEqual({ kind: 'gone' });
    expect([written, turn.wrote]).toEqual([['set', 'set'], false]);
  });

  test('for a map that another manager owns does not take it if the coordinator stops meanwhile', async () => {
    const stopping = started(
      { set },
      {
        reply: () => {
          stopping.gate.close();
          return { kind: 'conflict', foreign: [] };
        },
      },
    );
    expect(await stopping.turn.run()).toEqual({ kind: 'dropped' });
    expect(stopping.written).toEqual(['set']);
  });

  test.each([
    { bad: 'one in two', isBad: (index: number) => index % 2 === 1, written: ['k0', 'k2', 'k4'] },
    { bad: 'all', isBad: () => true, written: [] },
  ])(
    'of $bad of more keys than one search can try has written what is known to be good',
    async ({ isBad, written }) => {
      const sent: string[][] = [];
      const reply = (_write: Kind, _count: number, change: unknown): WriteOutcome | undefined => {
        const keys = Object.keys((change as NodeSet).labels);
        sent.push(keys);
        return keys.some((key) => isBad(Number(key.slice(1)))) ? { kind: 'denied', message: 'no' } : undefined;
      };
      const labels = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, '1']));
      const { turn } = started({ set: { force: false, labels, annotations: {} } }, { reply });
      expect(await turn.run()).toEqual({ kind: 'again', priority: 'normal' });
      const searched = 1 + PROBES_MAX;
      expect(sent[searched]?.slice(0, 3) ?? []).toEqual(written);
      expect(sent.length).toBe(searched + (written.length > 0 ? 1 : 0));
    },
  );

  test('for a condition of another manager among those that are given up skips nothing', async () => {
    const conflict: WriteOutcome = {
      kind: 'conflict',
      foreign: [{ ref: { kind: 'condition', key: 'c' }, owner: 'npd' }],
    };
    const { turn, told } = started({ conditions: { write: 'disown', entry: 0 } }, { reply: () => conflict });
    expect(await turn.run()).toMatchObject({ kind: 'retry' });
    expect(told).toEqual([]);
  });

  test('that comes again and again is given sixteen rounds', async () => {
    let key = 0;
    const conflict = (): WriteOutcome => ({
      kind: 'conflict',
      foreign: [{ ref: { kind: 'label', key: `k${key++}` }, owner: 'x' }],
    });
    const labels = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, '1']));
    const { turn, written } = started({ set: { ...set, labels } }, { reply: conflict });
    expect(await turn.run()).toEqual({ kind: 'retry', error: undefined });
    expect(written).toHaveLength(16);
  });
});

test('a key that was seen to be foreign is reported once, and costs no request', async () => {
  const key: ForeignKey = { kind: 'condition', key: 'c', cause: 'foreign', wanted: 'True', message: 'owned by x' };
  const { turn, told, written } = started({ foreign: [key] });
  await turn.run();
  expect([told, written]).toEqual([[[key]], []]);
});

test('what is left beside what was seen to be foreign is written', async () => {
  const key: ForeignKey = { kind: 'label', key: 'k', cause: 'foreign', wanted: '1', message: 'owned by x' };
  const { turn, told, written } = started({ foreign: [key], set });
  expect(await turn.run()).toEqual({ kind: 'holds' });
  expect([told, written]).toEqual([[[key]], ['set']]);
});

test.each<[Kind | 'nothing', Partial<NodePlan>]>([
  ['withdraw', { withdrawal }],
  ['set', { set }],
  ['taints', { taints: TAINTS }],
  ['conditions', { conditions: CONDITIONS }],
  ['nothing', {}],
])('a dry run counts what it leaves out: %s', async (kind, parts) => {
  const { turn, registry } = started(parts, { dryRun: true });
  await turn.run();
  const counted = (await registry.metrics()).matchAll(/kind="(\w+)",outcome="dry-run"\} 1/g);
  expect([...counted].map(([, each]) => each)).toEqual(kind === 'nothing' ? [] : [kind]);
});

test('what is planned is written, also where it is on the node already', async () => {
  const owned = { labels: new Set(Object.keys(set.labels)), annotations: new Set(Object.keys(set.annotations)) };
  const { labels, annotations } = set;
  const { turn, written } = started({ set }, { seen: { name: 'n', uid: 'u', labels, annotations, owned } });
  await turn.run();
  expect(written).toEqual(['set']);
});

test('a dry run writes nothing, and has nothing left to do', async () => {
  const { turn, written } = started({ set, withdrawal, taints: TAINTS, conditions: CONDITIONS }, { dryRun: true });
  expect([await turn.run(), written, turn.wrote]).toEqual([{ kind: 'holds' }, [], false]);
});

test.each<[WriteOutcome, boolean]>([
  [{ kind: 'applied', node: { metadata: NODE } }, true],
  [{ kind: 'stale' }, true],
  [{ kind: 'failed', error: new Error('no answer') }, false],
])('what a write may have done is known once it was answered: %j', async (outcome, isSettled) => {
  const { turn, settled } = started({ set }, { reply: () => outcome, isLagging: true });
  await turn.run();
  expect(settled[0]).toBe(isSettled);
});
