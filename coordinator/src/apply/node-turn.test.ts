import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { describe, expect, test } from 'vitest';
import type { ConditionChange, NodePlan, SetAsideKey, TaintChange } from '../decide/intent/plan.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { ContestedKeys } from './contested-keys.ts';
import { createApplyMetrics } from './metrics.ts';
import { NodeTurn, type TurnDependencies } from './node-turn.ts';
import type { NodeWriter } from './node-writer.ts';
import { set, withdrawal } from './reconciler.test-fixtures.ts';
import { RefusedWithdrawals } from './refused-withdrawals.ts';
import { type SeenNode, SetAside } from './set-aside.ts';
import type { Priority } from './work-queue.ts';
import { WriteGate } from './write-gate.ts';
import type { WriteOutcome } from './write-outcome.ts';

/** One turn of one Node: what is written in which order, and how it ends. When turns come is the reconciler's. */

type Kind = 'withdraw' | 'taints' | 'set' | 'conditions';

const NODE = { name: 'n', uid: 'u', resourceVersion: '1' };
const TAINTS: TaintChange = { add: [{ key: 't', value: 'true', effect: 'NoSchedule' }], remove: [], observed: [] };
const CONDITION = { type: 'c', status: 'False', reason: 'r', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
const CONDITIONS: Extract<ConditionChange, { write: 'apply' }> = {
  write: 'apply',
  conditions: [CONDITION],
  news: ['c'],
  before: [],
  force: false,
  keepsAway: true,
  due: true,
  waiting: [],
};

/** `parts` is what is planned; each write that is taken takes its own out of it, unless the plan lags. */
function started(
  parts: Partial<NodePlan>,
  {
    reply,
    seen,
    dryRun = false,
    priority = 'normal',
    isLagging = false,
  }: {
    reply?: (kind: Kind, count: number, change: unknown) => WriteOutcome | undefined;
    /** The Node as the watch shows it. */
    seen?: SeenNode;
    dryRun?: boolean;
    priority?: Priority;
    isLagging?: boolean;
  } = {},
) {
  const clock = new FakeClock();
  const written: Kind[] = [];
  const told: (readonly SetAsideKey[])[] = [];
  let plan: NodePlan | undefined = { node: NODE, ...parts };
  const PART = { withdraw: 'withdrawal', taints: 'taints', set: 'set', conditions: 'conditions' } as const;
  const write =
    (kind: Kind) =>
    async (_node: unknown, change: unknown, { rehearsal = false } = {}): Promise<WriteOutcome> => {
      written.push(kind);
      const outcome = reply?.(kind, written.length, change);
      if (outcome) return outcome;
      if (plan && !isLagging && !rehearsal)
        plan = Object.fromEntries(Object.entries(plan).filter(([part]) => part !== PART[kind])) as NodePlan;
      return { kind: 'applied', node: { metadata: { ...NODE, labels: { a: '1' } } } };
    };
  const writer = {
    withdraw: write('withdraw'),
    taints: write('taints'),
    set: write('set'),
    conditions: write('conditions'),
    read: async () => undefined,
  } as unknown as NodeWriter;
  const contested = new ContestedKeys(clock);
  const setAside = new SetAside(clock);
  const metrics = createApplyMetrics(new Registry(), {
    queueDepth: () => 0,
    writeConcurrency: () => 0,
    setAsideKeys: () => ({ foreign: 0, invalid: 0, denied: 0 }),
    contestedKeys: () => 0,
  });
  const dependencies: TurnDependencies = {
    plan: () => plan,
    observed: () => seen,
    onWritten: () => {},
    onContested: () => {},
    onSetAside: (_name, keys) => told.push(keys),
    writer,
    gate: new WriteGate({ fence: { remainingMs: () => 60_000 }, metrics, clock }),
    limiter: new ConcurrencyLimiter({ clock, random: () => 0.5 }),
    setAside,
    contested,
    refusedWithdrawals: new RefusedWithdrawals(clock),
    metrics,
    logger: silentLogger(),
    dryRun,
  };
  const newTurn = () => new NodeTurn('n', priority, dependencies);
  /** Something else is planned from now on. */
  const replan = (next: Partial<NodePlan>) => {
    plan = { node: NODE, ...next };
  };
  const { refusedWithdrawals } = dependencies;
  return { turn: newTurn(), newTurn, replan, written, told, contested, setAside, refusedWithdrawals, clock };
}

describe('the order', () => {
  test('is what keeps pods away first, then what is withdrawn, then the rest', async () => {
    const { turn, written } = started({ set, withdrawal, taints: TAINTS, conditions: CONDITIONS });
    expect(await turn.run()).toEqual({ kind: 'holds' });
    expect(written).toEqual(['taints', 'conditions', 'withdraw', 'set']);
    expect(turn.wrote).toBe(true);
  });

  test('has conditions that keep nobody away, and taints that only go, after the set', async () => {
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

  test('waits for conditions that are not due', async () => {
    const { turn, written } = started({ conditions: { ...CONDITIONS, due: false } });
    expect([await turn.run(), written]).toEqual([{ kind: 'holds' }, []]);
  });
});

describe('a refusal', () => {
  test.each(['invalid', 'denied'] as const)(
    'of taints (%s) leaves the rest to be written, and is tried again',
    async (kind) => {
      const refusal: WriteOutcome = { kind, keys: [], message: 'no taints' };
      const reply = (write: Kind) => (write === 'taints' ? refusal : undefined);
      const { turn, written } = started({ set, taints: TAINTS }, { reply });
      expect(await turn.run()).toMatchObject({ kind: 'retry', error: { code: 'WRITE_REFUSED', message: 'no taints' } });
      expect(written).toEqual(['taints', 'set']);
    },
  );

  test('of conditions that go leaves the rest to be written', async () => {
    const refusal: WriteOutcome = { kind: 'denied', message: 'no conditions' };
    const conditions: ConditionChange = { write: 'remove', conditions: [{ type: 'c', index: 0 }] };
    const reply = (write: Kind) => (write === 'conditions' ? refusal : undefined);
    const { turn, written } = started({ withdrawal, conditions }, { reply });
    expect(await turn.run()).toMatchObject({ kind: 'retry', error: { message: 'no conditions' } });
    expect(written).toEqual(['withdraw', 'conditions']);
  });

  test('for a condition of somebody else sets it aside, and says so', async () => {
    const conflict: WriteOutcome = {
      kind: 'conflict',
      foreign: [{ ref: { kind: 'condition', key: 'c' }, owner: 'npd' }],
    };
    const reply = (_kind: Kind, count: number) => (count === 1 ? conflict : undefined);
    const { turn, told, setAside } = started({ conditions: CONDITIONS }, { reply });
    await turn.run();
    const key = { kind: 'condition', key: 'c', cause: 'foreign', wanted: 'False', message: 'owned by npd' };
    expect(told).toEqual([[key]]);
    expect(setAside.keysFor('n')).toMatchObject([key]);
  });

  test('for a label of somebody else sets it aside, and is tried again only where that changes anything', async () => {
    const conflict: WriteOutcome = { kind: 'conflict', foreign: [{ ref: { kind: 'label', key: 'a' }, owner: 'x' }] };
    const { turn, written, setAside, told } = started({ set }, { reply: () => conflict });
    expect(await turn.run()).toMatchObject({ kind: 'retry', error: { code: 'WRITE_REFUSED' } });
    expect(written).toEqual(['set', 'set']);
    const key = { kind: 'label', key: 'a', wanted: '1', message: 'owned by x' };
    expect(setAside.keysFor('n')).toMatchObject([key]);
    expect(told).toMatchObject([[key]]);
  });

  test.each<[WriteOutcome, object]>([
    [{ kind: 'gone' }, { kind: 'gone' }],
    [{ kind: 'stale' }, { kind: 'retry' }],
    [
      { kind: 'throttled', retryAfterMs: 0 },
      { kind: 'again', priority: 'normal' },
    ],
  ])('for a Node that is %j ends the turn', async (outcome, end) => {
    const { turn, written } = started({ set, withdrawal }, { reply: () => outcome });
    expect(await turn.run()).toMatchObject(end);
    expect([written, turn.wrote]).toEqual([['withdraw'], false]);
  });

  test('for a label of somebody else counts as a try, so that one that goes on changing waits', async () => {
    const conflict: WriteOutcome = { kind: 'conflict', foreign: [{ ref: { kind: 'label', key: 'a' }, owner: 'x' }] };
    const { turn, newTurn, contested } = started({ set }, { reply: () => conflict });
    const mustWait = () => contested.mustWait(NODE, { kind: 'label', key: 'a' }, '1');
    await turn.run();
    await newTurn().run();
    expect(mustWait()).toBe(false);
    await newTurn().run();
    expect(mustWait()).toBe(true);
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

  test('to let go of a key leaves the rest to be written, and is tried again after 30 s', async () => {
    const seen: SeenNode = {
      name: 'n',
      uid: 'u',
      labels: { stuck: '1', loose: '1' },
      annotations: {},
      owned: { labels: new Set(['stuck', 'loose']), annotations: new Set() },
    };
    const taken: unknown[] = [];
    const reply = (_write: Kind, _count: number, change: unknown): WriteOutcome | undefined => {
      const { labels } = change as NodePlan['set'] & object;
      if (!('stuck' in labels)) return { kind: 'denied', message: 'stuck stays' };
      taken.push({ ...labels });
      return undefined;
    };
    const { turn, newTurn, replan, refusedWithdrawals, clock, written } = started({ set }, { reply, seen });
    await turn.run();
    expect(taken.at(-1)).toEqual({ stuck: '1', ...set.labels });
    expect(refusedWithdrawals.keysFor('n')).toEqual([{ kind: 'label', key: 'stuck', message: 'stuck stays' }]);
    const before = written.length;
    replan({ set: { ...set, labels: { loose: '1' }, annotations: {} } });
    expect(await newTurn().run()).toEqual({ kind: 'holds' });
    expect(written).toHaveLength(before);
    await clock.advance(30_001);
    await newTurn().run();
    expect(written.length).toBeGreaterThan(before);
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

test('what was seen to be foreign is told of once, and costs no request', async () => {
  const key: SetAsideKey = { kind: 'condition', key: 'c', cause: 'foreign', wanted: 'True', message: 'owned by x' };
  const { turn, told, written } = started({ foreign: [key] });
  await turn.run();
  expect([told, written]).toEqual([[[key]], []]);
});

test('a dry run writes nothing, and has nothing left to do', async () => {
  const { turn, written } = started({ set, withdrawal, taints: TAINTS, conditions: CONDITIONS }, { dryRun: true });
  expect([await turn.run(), written, turn.wrote]).toEqual([{ kind: 'holds' }, [], false]);
});
