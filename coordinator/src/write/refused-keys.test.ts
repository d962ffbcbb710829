import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import type { SeenNode, Write } from '../decide/intent/kinds/kind.ts';
import type { NodeSet, TaintChange } from '../decide/intent/plan.ts';
import type { NodeCondition } from '../state/observed-conditions.ts';
import type { WriteOutcome } from './classify.ts';
import type { NodeWriter, WriteOptions } from './node-writer.ts';
import { findRefused } from './refused-keys.ts';
import { SlowNodes } from './slow-nodes.ts';
import { WriteGate, type WriteLimits } from './write-gate.ts';

const node = { name: 'n', uid: 'u', resourceVersion: '1' };
const APPLIED: WriteOutcome = { kind: 'applied', node: { metadata: node } };
const seen: SeenNode = {
  name: 'n',
  uid: 'u',
  labels: { same: '1', other: 'old', gone: '1' },
  annotations: {},
  owned: { labels: new Set(['same', 'other', 'gone']), annotations: new Set() },
};
const set: NodeSet = { labels: { same: '1', other: 'new', added: '1' }, annotations: {}, force: false };

function started(reply: (labels: object) => WriteOutcome, { mustYield = false } = {}) {
  const clock = new FakeClock();
  const probes: object[] = [];
  const send = async (_node: unknown, write: Write, { rehearsal }: WriteOptions) => {
    if (!rehearsal) throw new Error('a search writes nothing');
    const sent = keysSentBy(write);
    probes.push(sent);
    return reply(sent);
  };
  const metrics = {
    countPatch: () => {},
    observePatch: () => {},
    observeQueueLatency: () => {},
    observeEvidenceToApplied: () => {},
  };
  const gate = new WriteGate({
    metrics,
    clock,
    random: () => 0.5,
    slowNodes: new SlowNodes({ clock, read: async () => true }),
    isAwaited: () => false,
  });
  const search = {
    writer: { send } as unknown as NodeWriter,
    probe: (send: (limits: WriteLimits) => Promise<WriteOutcome>) =>
      gate.run('normal', () => gate.pass('probe', { node: 'n', lane: 'normal' }, send)),
    mustYield: () => mustYield,
  };
  return { search, probes, gate };
}

/** The labels, the conditions, or the keys of taints. */
function keysSentBy(write: Write): object {
  switch (write.write) {
    case 'set':
      return write.set.labels;
    case 'withdraw':
      return write.keys.labels;
    case 'taints':
      return [...write.taints.add.map(({ key }) => key), ...write.taints.remove];
    case 'conditions':
      return write.conditions.write === 'apply' ? write.conditions.conditions : [];
  }
}

const refuse = (isRefused: boolean): WriteOutcome => (isRefused ? { kind: 'denied', message: 'no' } : APPLIED);

describe('the search in a set', () => {
  test('suspects what changes or is let go of, and leaves the rest in every rehearsal', async () => {
    const { search, probes } = started((labels) => refuse('added' in labels));
    const { offending, good, ended } = await findRefused(node, { write: 'set', set }, seen, search);
    expect(offending).toEqual([{ ref: { kind: 'label', key: 'added' }, message: 'no' }]);
    expect(good).toEqual({ write: 'set', set: { ...set, labels: { same: '1', other: 'new' } } });
    expect(ended).toBeUndefined();
    // A suspect that is left out stays as it is on the Node.
    expect(probes[0]).toEqual({ same: '1', other: 'old', gone: '1' });
    expect(probes.every((labels) => 'same' in labels && 'other' in labels)).toBe(true);
  });

  test('finds the key that may not be let go of', async () => {
    const { search } = started((labels) => refuse(!('gone' in labels)));
    const { offending } = await findRefused(node, { write: 'set', set }, seen, search);
    expect(offending.map(({ ref }) => ref)).toEqual([{ kind: 'label', key: 'gone' }]);
  });

  test('suspects every key of a Node that is not known', async () => {
    const { search, probes } = started((labels) => refuse('same' in labels));
    const { offending } = await findRefused(node, { write: 'set', set }, undefined, search);
    expect(offending.map(({ ref }) => ref.key)).toEqual(['same']);
    expect(probes[0]).toEqual({});
  });
});

describe('the search in conditions', () => {
  const condition = (type: string, status: string) => ({
    type: `example.com/${type}`,
    status,
    reason: 'R',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });

  test('has in every rehearsal all that is ours, as it is on the Node unless it is tried', async () => {
    const conditions = [condition('Kept', 'True'), condition('Good', 'True'), condition('Bad', 'True')];
    const change = {
      write: 'apply' as const,
      conditions,
      news: ['example.com/Good', 'example.com/Bad'],
      before: [condition('Good', 'False'), condition('Bad', 'False')],
      released: [],
      force: false,
      keepsAway: false,
      due: true,
      waiting: [],
    };
    const { search, probes } = started((sent) =>
      refuse((sent as typeof conditions).some(({ type, status }) => type === 'example.com/Bad' && status === 'True')),
    );
    const { offending, good } = await findRefused(node, { write: 'conditions', conditions: change }, seen, search);
    expect(offending).toEqual([{ ref: { kind: 'condition', key: 'example.com/Bad' }, message: 'no' }]);
    const left = [condition('Kept', 'True'), condition('Good', 'True'), condition('Bad', 'False')];
    expect(good).toMatchObject({ conditions: { conditions: left } });
    expect(probes.length).toBeGreaterThan(0);
    for (const sent of probes as (typeof conditions)[]) {
      expect(sent.map(({ type }) => type).toSorted()).toEqual(conditions.map(({ type }) => type).toSorted());
      expect(sent).toContainEqual(condition('Kept', 'True'));
    }
  });

  test('finds one that may not go, which holds up none that changes', async () => {
    const change = {
      write: 'apply' as const,
      conditions: [condition('Good', 'False')],
      news: ['example.com/Good'],
      before: [condition('Good', 'True')],
      released: [condition('Stuck', 'True')],
      force: false,
      keepsAway: true,
      due: true,
      waiting: [],
    };
    const { search } = started((sent) =>
      refuse((sent as NodeCondition[]).every(({ type }) => type !== 'example.com/Stuck')),
    );
    const { offending, good, ended } = await findRefused(
      node,
      { write: 'conditions', conditions: change },
      seen,
      search,
    );
    expect(ended).toBeUndefined();
    expect(offending.map(({ ref }) => ref.key)).toEqual(['example.com/Stuck']);
    expect(good).toMatchObject({
      conditions: { conditions: [condition('Good', 'False'), condition('Stuck', 'True')] },
    });
  });
});

test('the search in a change of taints tries each with all that belongs to it', async () => {
  const [a, b] = ['a', 'b'].map((key) => ({ key, value: '', effect: 'NoSchedule' }));
  const taints: TaintChange = { add: a && b ? [a, b] : [], remove: ['b', 'c'], observed: [] };
  const { search, probes } = started((keys) => refuse((keys as string[]).includes('b')));
  const { offending, good } = await findRefused(node, { write: 'taints', taints }, seen, search);
  expect(offending).toEqual([{ ref: { kind: 'taint', key: 'b' }, message: 'no' }]);
  expect(good).toEqual({ write: 'taints', taints: { add: [a], remove: ['c'], observed: [] } });
  expect(probes[0]).toEqual([]);
});

test('a write that changes no key is refused as a whole', async () => {
  const { search, probes } = started(() => refuse(true));
  const write: Write = { write: 'conditions', conditions: { write: 'disown', entry: 0 } };
  const { offending, ended } = await findRefused(node, write, seen, search);
  expect([offending, ended]).toEqual([[], { kind: 'whole-refused', message: 'no' }]);
  expect(probes).toHaveLength(1);
});

describe.each([
  ['a set', (search: ReturnType<typeof started>['search']) => findRefused(node, { write: 'set', set }, seen, search)],
  [
    'a withdrawal',
    (search: ReturnType<typeof started>['search']) =>
      findRefused(node, { write: 'withdraw', keys: { labels: ['a', 'b'], annotations: [] } }, seen, search),
  ],
] as const)('the search in %s', (_what, searchIn) => {
  test('ends with the replica that may not write any more, and blames no key', async () => {
    const { search, probes, gate } = started(() => APPLIED);
    gate.close();
    const found = await searchIn(search);
    expect([found.offending, found.ended]).toEqual([[], { kind: 'stop', stop: { kind: 'fenced' } }]);
    expect(probes).toEqual([]);
  });

  test.each<WriteOutcome>([
    { kind: 'stale' },
    { kind: 'gone' },
    { kind: 'throttled', retryAfterMs: 1000, isForAll: true },
  ])('ends with an answer that is no verdict, and blames no key: %j', async (outcome) => {
    const { search, probes } = started(() => outcome);
    const found = await searchIn(search);
    expect([found.offending, found.ended]).toEqual([[], { kind: 'stop', stop: outcome }]);
    expect(probes).toHaveLength(1);
  });

  test('sends nothing while it has to yield', async () => {
    const { search, probes } = started(() => APPLIED, { mustYield: true });
    const { ended } = await searchIn(search);
    expect(ended).toEqual({ kind: 'stop', stop: { kind: 'yielded' } });
    expect(probes).toEqual([]);
  });
});
