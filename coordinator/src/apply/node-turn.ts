import { CodedError, hasCode } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { NodePlan, NodeSet, NodeWithdrawal, SetAsideKey, TaintChange } from '../intent/plan.ts';
import type { Node } from '../kube/objects.ts';
import type { ConcurrencyLimiter, Slot } from './concurrency-limiter.ts';
import { keysOfSet, restrictSet, valueIn } from './key-sets.ts';
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

type Attempt =
  | { write: 'withdraw'; plan: NodePlan; keys: NodeWithdrawal; outcome: GateOutcome }
  | { write: 'taints'; plan: NodePlan; outcome: GateOutcome }
  | { write: 'set'; plan: NodePlan; set: NodeSet; outcome: GateOutcome };

/** One Node, from the queue until nothing is left to write or it has to wait. */
export class NodeTurn {
  readonly #name: string;
  readonly #priority: Priority;
  readonly #deps: TurnDependencies;
  #withdrawn = false;
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
    const { plan: planOf, writer, gate, refusedWithdrawals, dryRun } = this.#deps;
    // Asked before the plan is made too: a standby is told of every change as well.
    if (!gate.open) return 'fenced';
    const plan = planOf(this.#name);
    if (!plan) return 'nothing';
    const keys = this.#withdrawn ? undefined : refusedWithdrawals.without(plan.node, plan.withdrawal);
    const { node, set } = plan;
    const taints = this.#taintsRefused === undefined ? plan.taints : undefined;
    if (dryRun) return this.#pretend(keys, set, taints);
    if (keys) {
      const outcome = await gate.pass('withdraw', slot, (timeoutMs) => writer.withdraw(node, keys, { timeoutMs }));
      return { write: 'withdraw', plan, keys, outcome };
    }
    if (taints && (!set || taints.add.length > 0)) {
      const outcome = await gate.pass('taints', slot, (timeoutMs) => writer.taints(node, taints, { timeoutMs }));
      return { write: 'taints', plan, outcome };
    }
    if (!set) return 'nothing';
    const outcome = await gate.pass('set', slot, (timeoutMs) => writer.set(node, set, { timeoutMs }));
    return { write: 'set', plan, set, outcome };
  }

  #pretend(
    withdrawal: NodeWithdrawal | undefined,
    set: NodeSet | undefined,
    taints: TaintChange | undefined,
  ): 'nothing' {
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
        return this.#applied(attempt, outcome.node);
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

  #applied({ write, plan }: Pick<Attempt, 'write' | 'plan'>, node: Node): TurnEnd | undefined {
    this.#deps.onWritten(node, plan);
    this.#wrote = true;
    if (write === 'set') return plan.taints ? undefined : this.#done();
    if (write === 'withdraw') this.#withdrawn = true;
    // A taint to add keeps pods away as a withdrawal does, and is as urgent.
    if (write === 'withdraw' && plan.taints?.add.length) return undefined;
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
    if (attempt.write === 'set') {
      const found = await refusedInSet(attempt.plan.node, attempt.set, this.#deps.observed(this.#name), this.#deps);
      const keys = found.offending.map(({ ref, message }) => ({ ...ref, cause, message }));
      const end = keys.length > 0 ? this.#leaveOut(attempt, keys) : undefined;
      if (end) return end;
      return found.ended?.kind === 'probes-spent' ? this.#setPart(attempt, found) : this.#unlessEnded(found);
    }
    const found = await refusedInWithdrawal(attempt.plan.node, attempt.keys, this.#priority, this.#deps);
    const keys = found.offending.map(({ ref, message }) => ({ ...ref, message }));
    this.#deps.refusedWithdrawals.add(attempt.plan.node, keys);
    if (keys.length > 0) this.#deps.logger.warn({ node: this.#name, keys }, 'Was refused the removal of keys');
    return this.#unlessEnded(found);
  }

  /** So many keys are refused that the search goes on another time; those that were found good do not wait for it. */
  #setPart({ plan, set }: { plan: NodePlan; set: NodeSet }, { good }: RefusedKeys): Promise<TurnEnd> {
    return this.#setNow(plan, restrictSet(set, good));
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
    return this.#setNow(plan, { ...restrictSet(set, safe), force: true });
  }

  /** Sets something else than was planned, and has the Node looked at again. */
  async #setNow(plan: NodePlan, set: NodeSet): Promise<TurnEnd> {
    const { limiter, gate, writer } = this.#deps;
    const outcome = await limiter.run('normal', (slot) =>
      gate.pass('set', slot, (timeoutMs) => writer.set(plan.node, set, { timeoutMs })),
    );
    if (!outcome) return { kind: 'dropped' };
    if (outcome.kind !== 'applied') return endOf(outcome, 'normal');
    this.#applied({ write: 'set', plan }, outcome.node);
    return { kind: 'again', priority: 'normal' };
  }

  #unlessEnded({ ended }: RefusedKeys): TurnEnd | undefined {
    if (!ended || ended.kind === 'probes-spent') return undefined;
    if (ended.kind === 'stop') return endOf(ended.stop, this.#priority);
    return { kind: 'retry', error: new CodedError('WRITE_REFUSED', ended.message) };
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
