import { CodedError, hasCode } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { entryKey } from '../intent/intent.ts';
import {
  type KeyRef,
  type NodePlan,
  type NodeRef,
  type NodeSet,
  type NodeWithdrawal,
  type SetAsideKey,
  type TaintChange,
  withdrawalOf,
} from '../intent/plan.ts';
import type { Node } from '../kube/objects.ts';
import type { ConcurrencyLimiter, Slot } from './concurrency-limiter.ts';
import { keysOfSet, keysOfWithdrawal, restrictSet, valueIn } from './key-sets.ts';
import type { ApplyMetrics } from './metrics.ts';
import type { NodeWriter } from './node-writer.ts';
import { type RefusedKeys, refusedInSet, refusedInWithdrawal } from './refused-keys.ts';
import type { RefusedWithdrawals } from './refused-withdrawals.ts';
import type { SeenNode, SetAside } from './set-aside.ts';
import type { Priority } from './work-queue.ts';
import type { GateOutcome, WriteGate } from './write-gate.ts';

export type TurnDependencies = {
  plan: (nodeName: string) => NodePlan | undefined;
  observed: (nodeName: string) => SeenNode | undefined;
  onWritten: (node: Node, plan: NodePlan) => void;
  writer: NodeWriter;
  gate: WriteGate;
  limiter: ConcurrencyLimiter;
  setAside: SetAside;
  refusedWithdrawals: RefusedWithdrawals;
  metrics: ApplyMetrics;
  logger: Logger;
  /** Says what would be written instead of writing it. */
  dryRun: boolean;
};

/** How a turn ended, and so when the Node is looked at again. */
export type TurnEnd =
  /** There is nothing left to write. */
  | { kind: 'holds' }
  /** At once, with what is left. */
  | { kind: 'again'; priority: Priority }
  /** After the Node's own backoff. */
  | { kind: 'retry'; error: unknown }
  /** The watch will tell that the Node is gone. Should the plan still know it by then, it is looked at again. */
  | { kind: 'gone' }
  /** Not by this replica. */
  | { kind: 'dropped' };

/** A round that does not end the turn has set something aside, or met a refusal that was over a moment later. */
const ROUNDS_MAX = 16;

/** An admission policy can afford to look at so many keys that go at once. */
const WITHDRAWAL_MAX = 250;

type Withdraw = { write: 'withdraw'; urgent: boolean; keys: NodeWithdrawal };
type SetStep = { write: 'set'; urgent: false; set: NodeSet };
/** One request. What is urgent keeps pods away, and waits for nothing that is not. */
type Step = Withdraw | { write: 'taints'; urgent: boolean; taints: TaintChange } | SetStep;
type Attempt = Step & { plan: NodePlan; outcome: GateOutcome };

/** One Node, from the queue until nothing is left to write or it has to wait. */
export class NodeTurn {
  readonly #name: string;
  readonly #priority: Priority;
  readonly #deps: TurnDependencies;
  /** Not again in this turn, even if the plan does not know of it yet. */
  readonly #withdrawn = new Set<string>();
  /** What the API server said when it refused a change of taints; the rest of the plan does not wait for it. */
  #taintsRefused: string | undefined;
  #wrote = false;

  constructor(name: string, priority: Priority, deps: TurnDependencies) {
    this.#name = name;
    this.#priority = priority;
    this.#deps = deps;
  }

  /** Whether anything was written. */
  get wrote(): boolean {
    return this.#wrote;
  }

  async run(): Promise<TurnEnd> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      // The plan is made with the slot in hand, so that nothing that waited for one is written out of date.
      const attempt = await this.#deps.limiter.run(this.#priority, (slot) => this.#writeNext(slot));
      if (!attempt || attempt === 'fenced') return { kind: 'dropped' };
      if (attempt === 'nothing') return this.#done();
      const end = await this.#conclude(attempt);
      if (end) return end;
    }
    return { kind: 'retry', error: undefined };
  }

  async #writeNext(slot: Slot): Promise<Attempt | 'nothing' | 'fenced'> {
    const { plan: planOf, gate, dryRun } = this.#deps;
    // Asked before the plan is made too: a standby is told of every change as well.
    if (!gate.open) return 'fenced';
    const plan = planOf(this.#name);
    if (!plan) return 'nothing';
    if (dryRun) return this.#pretend(plan);
    const step = this.#stepOf(plan);
    if (!step) return 'nothing';
    const outcome = await this.#write(plan.node, step, slot);
    return { ...step, plan, outcome };
  }

  #write(node: NodeRef, step: Step, slot: Slot): Promise<GateOutcome> {
    const { gate, writer } = this.#deps;
    return gate.pass(step.write, slot, (timeoutMs) => {
      switch (step.write) {
        case 'withdraw':
          return writer.withdraw(node, step.keys, { timeoutMs });
        case 'taints':
          return writer.taints(node, step.taints, { timeoutMs });
        case 'set':
          return writer.set(node, step.set, { timeoutMs });
      }
    });
  }

  /** What is to be written next. */
  #stepOf({ node, withdrawal, ahead = [], taints, set }: NodePlan): Step | undefined {
    const left = this.#deps.refusedWithdrawals.without(node, withdrawal);
    const keys = left ? keysOfWithdrawal(left).filter((ref) => !this.#withdrawn.has(entryKey(ref))) : [];
    const first = keys.filter(({ kind, key }) => kind === 'label' && ahead.includes(key));
    if (first.length > 0) return { write: 'withdraw', urgent: true, keys: withdrawalOf(first) };
    const change = this.#taintsRefused === undefined ? taints : undefined;
    if (change && change.add.length > 0) return { write: 'taints', urgent: true, taints: change };
    // Annotations come last: they say which labels may go.
    const part = keys.slice(0, WITHDRAWAL_MAX);
    if (part.length > 0) return { write: 'withdraw', urgent: false, keys: withdrawalOf(part) };
    if (set) return { write: 'set', urgent: false, set };
    return change && { write: 'taints', urgent: false, taints: change };
  }

  #pretend({ withdrawal, set, taints }: NodePlan): 'nothing' {
    const { logger, metrics } = this.#deps;
    if (withdrawal) metrics.countPatch('withdraw', 'dry-run');
    if (set) metrics.countPatch('set', 'dry-run');
    if (taints) metrics.countPatch('taints', 'dry-run');
    logger.info({ node: this.#name, withdrawal, set, taints }, 'Left a write out for the dry run');
    return 'nothing';
  }

  /** What follows from an attempt; `undefined` when the turn goes on. */
  async #conclude(attempt: Attempt): Promise<TurnEnd | undefined> {
    const { outcome } = attempt;
    switch (outcome.kind) {
      case 'applied':
        return this.#applied(attempt, attempt.plan, outcome.node);
      case 'conflict':
        if (attempt.write !== 'set') break;
        if (outcome.foreign.length === 0) return this.#takeMap(attempt);
        return this.#leaveOut(
          attempt,
          outcome.foreign.map(({ ref, owner }) => ({ ...ref, cause: 'foreign', message: `owned by ${owner}` })),
        );
      case 'invalid':
        if (attempt.write === 'taints') return this.#leaveTaints(outcome.message);
        if (attempt.write === 'withdraw' || outcome.keys.length === 0) return this.#findRefused(attempt, 'invalid');
        return this.#leaveOut(
          attempt,
          outcome.keys.map((ref) => ({ ...ref, cause: 'invalid', message: outcome.message })),
        );
      case 'denied':
        if (attempt.write === 'taints') return this.#leaveTaints(outcome.message);
        return this.#findRefused(attempt, 'denied');
    }
    return endOf(outcome, this.#priority);
  }

  /** Nothing is left to write but what was refused. */
  #done(): TurnEnd {
    if (this.#taintsRefused === undefined) return { kind: 'holds' };
    return { kind: 'retry', error: new CodedError('WRITE_REFUSED', this.#taintsRefused) };
  }

  #leaveTaints(message: string): undefined {
    this.#taintsRefused = message;
  }

  #applied(step: Step, plan: NodePlan, node: Node): TurnEnd | undefined {
    this.#deps.onWritten(node, plan);
    this.#wrote = true;
    if (step.write === 'set') return plan.taints ? undefined : this.#done();
    if (step.write === 'withdraw') for (const ref of keysOfWithdrawal(step.keys)) this.#withdrawn.add(entryKey(ref));
    // A taint to add keeps pods away as a withdrawal does, and is as urgent.
    if (step.write === 'withdraw' && plan.taints?.add.length) return undefined;
    // What is left is not urgent: other Nodes' withdrawals go before it.
    return this.#priority === 'urgent' ? { kind: 'again', priority: 'normal' } : undefined;
  }

  #leaveOut(
    { plan, set }: { plan: NodePlan; set: NodeSet },
    keys: readonly Omit<SetAsideKey, 'wanted'>[],
  ): TurnEnd | undefined {
    const { setAside, logger } = this.#deps;
    const wanted = keys.flatMap((key) => {
      const value = valueIn(set, key);
      return value === undefined ? [] : [{ ...key, wanted: value }];
    });
    const added = setAside.add(plan.node, wanted);
    if (added.length > 0) {
      logger.warn({ node: this.#name, keys: added }, 'Set keys aside');
      return undefined;
    }
    return { kind: 'retry', error: new CodedError('WRITE_REFUSED', 'Refused for keys that are set aside already') };
  }

  async #findRefused(
    attempt: Exclude<Attempt, { write: 'taints' }>,
    cause: 'invalid' | 'denied',
  ): Promise<TurnEnd | undefined> {
    const { plan } = attempt;
    const search = { ...this.#deps, mustYield: () => !attempt.urgent && this.#isUrgent() };
    if (attempt.write === 'set') {
      const found = await refusedInSet(plan.node, attempt.set, this.#deps.observed(this.#name), search);
      const keys = found.offending.map(({ ref, message }) => ({ ...ref, cause, message }));
      const end = keys.length > 0 ? this.#leaveOut(attempt, keys) : undefined;
      return end ?? this.#afterSearch(plan, found, this.#setOf(attempt.set, found.good));
    }
    const found = await refusedInWithdrawal(plan.node, attempt.keys, this.#priority, search);
    const keys = found.offending.map(({ ref, message }) => ({ ...ref, message }));
    this.#deps.refusedWithdrawals.add(plan.node, keys);
    if (keys.length > 0) this.#deps.logger.warn({ node: this.#name, keys }, 'Was refused the removal of keys');
    return this.#afterSearch(plan, found, {
      write: 'withdraw',
      urgent: attempt.urgent,
      keys: withdrawalOf(found.good),
    });
  }

  /** Whether something is to be written that waits for nothing else. */
  #isUrgent(): boolean {
    const plan = this.#deps.plan(this.#name);
    return plan !== undefined && this.#stepOf(plan)?.urgent === true;
  }

  #setOf(set: NodeSet, refs: readonly KeyRef[]): SetStep {
    return { write: 'set', urgent: false, set: restrictSet(set, refs, this.#deps.observed(this.#name)) };
  }

  /**
   * The map that labels or annotations are in is somebody else's, empty as it is. It is taken by force, for which the
   * Node must be what the plan was made from, and without keys that have another value there.
   */
  #takeMap({ plan, set }: { plan: NodePlan; set: NodeSet }): Promise<TurnEnd> {
    const seen = this.#deps.observed(this.#name);
    const safe = keysOfSet(set).filter((ref) => {
      const value = seen && valueIn(seen, ref);
      return value === undefined || value === valueIn(set, ref);
    });
    const step = this.#setOf(set, safe);
    return this.#writeNow(plan, { ...step, set: { ...step.set, force: true } });
  }

  /** Writes something else than was planned, and has the Node looked at again. */
  async #writeNow(plan: NodePlan, step: Withdraw | SetStep): Promise<TurnEnd> {
    const { limiter } = this.#deps;
    const outcome = await limiter.run('normal', (slot) => this.#write(plan.node, step, slot));
    if (!outcome) return { kind: 'dropped' };
    if (outcome.kind !== 'applied') return endOf(outcome, 'normal');
    this.#applied(step, plan, outcome.node);
    return { kind: 'again', priority: 'normal' };
  }

  /** What follows from a search; `good` is what goes through, and does not wait for a search that goes on another time. */
  async #afterSearch(plan: NodePlan, found: RefusedKeys, good: Withdraw | SetStep): Promise<TurnEnd | undefined> {
    const { ended } = found;
    switch (ended?.kind) {
      case 'probes-spent':
        return found.good.length > 0 ? this.#writeNow(plan, good) : { kind: 'again', priority: 'normal' };
      case 'whole-refused':
        return { kind: 'retry', error: new CodedError('WRITE_REFUSED', ended.message) };
      case 'stop':
        return ended.stop.kind === 'yielded' ? undefined : endOf(ended.stop, this.#priority);
    }
    return undefined;
  }
}

function endOf(outcome: GateOutcome, priority: Priority): TurnEnd {
  switch (outcome.kind) {
    case 'fenced':
      return { kind: 'dropped' };
    case 'gone':
      return { kind: 'gone' };
    case 'throttled':
      return { kind: 'again', priority };
    case 'failed':
      // While nothing answers, the limiter makes all wait; a backoff of its own would outlast the outage.
      return hasCode(outcome.error, 'KUBE_UNREACHABLE')
        ? { kind: 'again', priority }
        : { kind: 'retry', error: outcome.error };
  }
  return { kind: 'retry', error: undefined };
}
