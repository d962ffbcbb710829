import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { SeenNode, Write } from '../decide/intent/kinds/kind.ts';
import type { ConditionChange, ContestedKey, NodePlan, SkippedKey, TaintChange } from '../decide/intent/plan.ts';
import type { ObjectMeta } from '../kube/objects.ts';
import type { WriteOutcome } from './classify.ts';
import { leavingOut, nodeOf } from './leaving-out.test-fixtures.ts';
import { LostWrites } from './lost-writes.ts';
import { createApplyMetrics } from './metrics.ts';
import { NodeTurn, type TurnDependencies, type WriteHandler } from './node-turn.ts';
import type { NodeWriter } from './node-writer.ts';
import { SkippedKeys } from './skipped-keys.ts';
import { SlowNodes } from './slow-nodes.ts';
import type { Priority } from './work-queue.ts';
import { WriteGate } from './write-gate.ts';

type ManagedFields = NonNullable<ObjectMeta['managedFields']>[number];

export type Kind = 'withdraw' | 'taints' | 'set' | 'conditions';

export const NODE = { name: 'n', uid: 'u', resourceVersion: '1' };
export const TAINTS: TaintChange = {
  add: [{ key: 't', value: 'true', effect: 'NoSchedule' }],
  remove: [],
  observed: [],
};
export const CONDITION = {
  type: 'c',
  status: 'False',
  reason: 'r',
  message: 'm',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
export const CONDITIONS: Extract<ConditionChange, { write: 'apply' }> = {
  write: 'apply',
  conditions: [CONDITION],
  news: ['c'],
  before: [],
  released: [],
  force: false,
  keepsAway: true,
  due: true,
  waiting: [],
};

/** What a request changes. */
function sentBy(write: Write) {
  switch (write.write) {
    case 'set':
      return write.set;
    case 'withdraw':
      return write.keys;
    case 'taints':
      return write.taints;
    case 'conditions':
      return write.conditions;
  }
}

/** `parts` is what is planned; each write that is taken takes its own out of it, unless the plan lags. */
export function started(
  parts: Partial<NodePlan>,
  {
    reply,
    seen,
    dryRun = false,
    priority = 'normal',
    isLagging = false,
    mayBegin = true,
    managedFields,
  }: {
    reply?: (kind: Kind, count: number, change: unknown) => WriteOutcome | undefined;
    /** The Node as the watch shows it. */
    seen?: SeenNode;
    dryRun?: boolean;
    priority?: Priority;
    isLagging?: boolean;
    mayBegin?: boolean;
    /** Of the Node as it is read, which it cannot be otherwise. */
    managedFields?: ManagedFields[];
  } = {},
) {
  const clock = new FakeClock();
  const written: Kind[] = [];
  const changes: unknown[] = [];
  const told: (readonly SkippedKey[])[] = [];
  const contests: (readonly ContestedKey[])[] = [];
  const settled: boolean[] = [];
  const registry = new Registry();
  let [reads, wholeReads, planned, rests] = [0, 0, 0, 0];
  let plan: NodePlan | undefined = { node: NODE, ...parts };
  const PART = { withdraw: 'withdrawal', taints: 'taints', set: 'set', conditions: 'conditions' } as const;
  const send = async (_node: unknown, write: Write, { rehearsal = false } = {}): Promise<WriteOutcome> => {
    const kind = write.write;
    const change = sentBy(write);
    written.push(kind);
    changes.push(change);
    const outcome = reply?.(kind, written.length, change);
    if (outcome) return outcome;
    if (plan && !isLagging && !rehearsal)
      plan = Object.fromEntries(Object.entries(plan).filter(([part]) => part !== PART[kind])) as NodePlan;
    return { kind: 'applied', node: { metadata: { ...NODE, labels: { a: '1' } } } };
  };
  const writer = {
    mayBegin,
    send,
    read: async (_name: string, { whole = false } = {}) => {
      reads += 1;
      if (whole) wholeReads += 1;
      return managedFields && { metadata: { ...NODE, managedFields } };
    },
  } as unknown as NodeWriter;
  const skipped = new SkippedKeys(clock);
  const metrics = createApplyMetrics(registry, {
    queueDepth: () => 0,
    writesInFlight: () => 0,
    skippedKeys: () => skipped.counts,
  });
  const dependencies: TurnDependencies = {
    observed: () => seen ?? (plan && nodeOf(plan)),
    writer,
    gate: new WriteGate({
      metrics,
      clock,
      random: () => 0.5,
      slowNodes: new SlowNodes({ clock, read: async () => true }),
      isAwaited: () => false,
    }),
    skipped,
    lost: new LostWrites(),
    metrics,
    logger: silentLogger(),
    dryRun,
  };
  const handler: WriteHandler = {
    prepare: () => {
      planned += 1;
      return plan && leavingOut(plan, skipped, seen ?? nodeOf(plan));
    },
    sent: () => (isSettled) => void settled.push(isSettled),
    rested: () => {
      rests += 1;
    },
    written: () => {},
    contested: (_name, keys) => contests.push(keys),
    skipped: (_name, keys) => told.push(keys),
  };
  const newTurn = () => new NodeTurn({ key: 'n', priority, lane: priority }, dependencies, handler);
  /** Something else is planned from now on. */
  const replan = (next: Partial<NodePlan>) => {
    plan = { node: NODE, ...next };
  };
  return {
    turn: newTurn(),
    newTurn,
    replan,
    written,
    changes,
    told,
    contests,
    settled,
    reads: () => reads,
    wholeReads: () => wholeReads,
    rests: () => rests,
    planned: () => planned,
    skipped,
    gate: dependencies.gate,
    clock,
    registry,
  };
}
