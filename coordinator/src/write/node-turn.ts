import { CodedError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { entryKey } from '../decide/intent/intent.ts';
import { isList } from '../decide/intent/lists.ts';
import {
  type ConditionChange,
  type ConditionRef,
  type KeyRef,
  type NodePlan,
  type NodeRef,
  type NodeSet,
  type NodeWithdrawal,
  type SkippedKey,
  type TaintChange,
  withdrawalOf,
} from '../decide/intent/plan.ts';
import type { Node } from '../kube/objects.ts';
import type { ConcurrencyLimiter, Slot } from './concurrency-limiter.ts';
import type { ContestedKey, ContestedKeys } from './contested-keys.ts';
import { isAsSeen, keepingIn, keysOfSet, keysOfWithdrawal, releasedKeys, restrictSet, valueIn } from './key-sets.ts';
import type { ApplyMetrics } from './metrics.ts';
import { type NodeWriter, send } from './node-writer.ts';
import {
  type RefusedKeys,
  refusedInConditions,
  refusedInSet,
  refusedInWithdrawal,
  type SearchDependencies,
} from './refused-keys.ts';
import type { RefusedWithdrawals } from './refused-withdrawals.ts';
import { endOf, type TurnEnd } from './turn-end.ts';
import type { SeenNode, UnwritableKeys } from './unwritable-keys.ts';
import type { Lane, Priority, WorkItem } from './work-queue.ts';
import type { GateOutcome, WriteGate } from './write-gate.ts';
import {
  restrictTaints,
  taintKeys,
  triedKeys,
  uncontestedTaints,
  wantedIn,
  writersOf,
  writtenKeys,
} from './written-keys.ts';

/** Prepares what is written, and hears of what came of it. `P` is a plan with what it was made from. */
export type WriteHandler<P extends NodePlan = NodePlan> = {
  /**
   * What has to be written to a Node now, without the keys that are skipped; `undefined` when it is not known. A query: the
   * writer asks as often as it likes.
   */
  prepare: (nodeName: string) => P | undefined;
  /** A request of the plan is in flight, until the returned function is called. */
  sent: (plan: P) => () => void;
  /** Nothing of the plan has to be written. */
  rested: (plan: P) => void;
  /** The API server answered a write that was made for this plan. Comes before the next `prepare`. */
  written: (node: Node, plan: P) => void;
  /** Keys do not stay as they are written; each is told once. */
  contested: (nodeName: string, keys: readonly ContestedKey[]) => void;
  /** Keys are left out for now; each is told once. */
  skipped: (nodeName: string, keys: readonly SkippedKey[]) => void;
};

export type TurnDependencies = {
  /** The Node as it is known from memory. */
  observed: (nodeName: string) => SeenNode | undefined;
  writer: NodeWriter;
  gate: WriteGate;
  limiter: ConcurrencyLimiter;
  unwritable: UnwritableKeys;
  contested: ContestedKeys;
  refusedWithdrawals: RefusedWithdrawals;
  /** Names of Nodes whose last write was not answered. */
  unanswered: Set<string>;
  metrics: ApplyMetrics;
  logger: Logger;
  /** Says what would be written instead of writing it. */
  dryRun: boolean;
};

/** A round that does not end the turn has skipped a key, or met a refusal that was over a moment later. */
const ROUNDS_MAX = 16;

/** An admission policy can afford to look at so many keys that go at once. */
const WITHDRAWAL_MAX = 250;

const NO_KEYS: NodeSet = { labels: {}, annotations: {}, force: false };

type Withdraw = { write: 'withdraw'; urgent: boolean; keys: NodeWithdrawal };
type SetStep = { write: 'set'; urgent: false; set: NodeSet };
type ConditionStep = { write: 'conditions'; urgent: boolean; conditions: ConditionChange };
/** One request. What is urgent keeps pods away, and waits for nothing that is not. */
type Step = Withdraw | { write: 'taints'; urgent: boolean; taints: TaintChange } | SetStep | ConditionStep;
type WriteAttempt<P extends NodePlan, S = Step> = S & {
  plan: P;
  seen: SeenNode | undefined;
  outcome: GateOutcome;
  ended: () => void;
};

/** One Node, from the queue until nothing is left to write or it has to wait. */
export class NodeTurn<P extends NodePlan = NodePlan> {
  readonly #name: string;
  readonly #priority: Priority;
  readonly #lane: Lane;
  readonly #deps: TurnDependencies;
  readonly #handler: WriteHandler<P>;
  /** Not again in this turn, even if the plan does not know of it yet. */
  readonly #withdrawn = new Set<string>();
  /** What the API server said when it refused a change of taints, or of conditions; the rest of the plan does not wait for it. */
  #taintsRefused: string | undefined;
  #conditionsRefused: string | undefined;
  /** Keys of taints of which a change was refused on its own. */
  readonly #refusedTaints = new Set<string>();
  #wrote = false;

  constructor({ key, priority, lane }: WorkItem, deps: TurnDependencies, handler: WriteHandler<P>) {
    this.#name = key;
    this.#priority = priority;
    this.#lane = lane;
    this.#deps = deps;
    this.#handler = handler;
  }

  /** Whether anything was written. */
  get wrote(): boolean {
    return this.#wrote;
  }

  async run(): Promise<TurnEnd> {
    const end = await this.#goRound();
    await this.#tellOfContests();
    return end;
  }

  async #goRound(): Promise<TurnEnd> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      // The plan is made with the slot in hand, so that nothing that waited for one is written out of date.
      const attempt = await this.#deps.limiter.run(this.#lane, (slot) => this.#writeNext(slot));
      if (!attempt || attempt === 'fenced') return { kind: 'dropped' };
      if (attempt === 'nothing') return this.#done();
      const end = await this.#conclude(attempt).finally(attempt.ended);
      if (end) return end;
    }
    return { kind: 'retry', error: undefined };
  }

  async #writeNext(slot: Slot): Promise<WriteAttempt<P> | 'nothing' | 'fenced'> {
    const { gate, dryRun } = this.#deps;
    // Checked before the plan is made too, because a standby receives every change as well.
    if (!gate.open) return 'fenced';
    const plan = this.#withoutForeign(this.#handler.prepare(this.#name));
    if (!plan) return 'nothing';
    if (dryRun) return this.#pretend(plan);
    const step = this.#stepOf(plan);
    if (!step) {
      this.#handler.rested(plan);
      return 'nothing';
    }
    const seen = this.#deps.observed(this.#name);
    const ended = this.#handler.sent(plan);
    const outcome = await this.#write(plan.node, step, slot).catch((error: unknown) => {
      ended();
      throw error;
    });
    return { ...step, plan, seen, outcome, ended };
  }

  /**
   * A write that was not answered may have been carried out, and the watch may not have shown it yet. The next one is good
   * for the Node as it was observed only, since what it leaves out may be there by now. What is urgent waits for nothing.
   */
  async #write(node: NodeRef, step: Step, slot: Slot): Promise<GateOutcome> {
    const { gate, writer, unanswered } = this.#deps;
    const context = { node: this.#name, lane: this.#lane, slot };
    const ifUnchanged = !step.urgent && unanswered.has(this.#name);
    // Where whole Nodes are watched, an answer leaves nothing unknown.
    const whole = this.#deps.observed(this.#name)?.taints !== undefined;
    const outcome = await gate.pass(step.write, context, (limits) =>
      send(writer, node, step, { ...limits, ifUnchanged, whole }),
    );
    if (outcome.kind === 'failed') unanswered.add(this.#name);
    if (outcome.kind === 'applied') unanswered.delete(this.#name);
    return outcome;
  }

  /** The lane of what is not urgent. */
  get #patientLane(): Lane {
    return this.#lane === 'slow' ? 'slow' : 'normal';
  }

  /** What is to be written next. */
  #stepOf(plan: NodePlan): Step | undefined {
    const { node, withdrawal, ahead = [], taints } = plan;
    const { refusedWithdrawals, contested } = this.#deps;
    const all = withdrawal ? keysOfWithdrawal(withdrawal) : [];
    const open = all.filter((ref) => !this.#withdrawn.has(entryKey(ref)));
    const staying = open.filter((ref) => refusedWithdrawals.has(node, ref) || contested.found(node, ref, undefined));
    // A label that stays is still listed.
    const isLabelStaying = staying.some(({ kind }) => kind === 'label');
    const keys = open.filter((ref) => !staying.includes(ref) && !(isLabelStaying && isList(ref)));
    const first = keys.filter(({ kind, key }) => kind === 'label' && ahead.includes(key));
    if (first.length > 0) return { write: 'withdraw', urgent: true, keys: withdrawalOf(first) };
    const change = this.#nextTaints(uncontestedTaints(node, taints, contested));
    if (change && change.add.length > 0) return { write: 'taints', urgent: true, taints: change };
    const status = this.#conditionStepOf(plan);
    if (status?.urgent) return status;
    // Annotations come last: they say which labels may go.
    const part = keys.slice(0, WITHDRAWAL_MAX);
    if (part.length > 0) return { write: 'withdraw', urgent: false, keys: withdrawalOf(part) };
    const allowed = this.#withoutKept(plan, staying);
    if (allowed) return { write: 'set', urgent: false, set: allowed };
    return change ? { write: 'taints', urgent: false, taints: change } : status;
  }

  /**
   * The set without letting go of keys that stay for now; `undefined` where nothing is left to write. A list that was to go
   * with the last of its labels names those that stay.
   */
  #withoutKept({ node, withdrawal, set }: NodePlan, staying: readonly KeyRef[]): NodeSet | undefined {
    const keys = [...this.#deps.refusedWithdrawals.keysOf(node), ...staying];
    const seen = this.#deps.observed(this.#name);
    if (keys.length === 0 || !seen) return set;
    const isListGoing = withdrawal?.annotations.some((key) => isList({ kind: 'annotation', key })) === true;
    const planned = set ?? (isListGoing ? restrictSet(NO_KEYS, [], seen) : undefined);
    const kept = planned && keepingIn(planned, keys, seen);
    return !kept || isAsSeen(kept, seen) ? undefined : kept;
  }

  #conditionStepOf({ node, conditions: change }: NodePlan): ConditionStep | undefined {
    if (!change || this.#conditionsRefused !== undefined) return undefined;
    if (change.write === 'apply') {
      return change.due ? { write: 'conditions', urgent: change.keepsAway, conditions: change } : undefined;
    }
    if (change.write === 'disown') return { write: 'conditions', urgent: false, conditions: change };
    const mustWait = (key: string) => this.#deps.contested.found(node, { kind: 'condition', key }, undefined);
    const conditions = change.conditions.filter(({ type }) => !mustWait(type));
    if (conditions.length === 0) return undefined;
    return { write: 'conditions', urgent: false, conditions: { write: 'remove', conditions } };
  }

  #pretend({ withdrawal, set, taints, conditions }: NodePlan): 'nothing' {
    const { logger, metrics } = this.#deps;
    if (!withdrawal && !set && !taints && !conditions) return 'nothing';
    const parts = { withdraw: withdrawal, set, taints, conditions };
    for (const kind of ['withdraw', 'set', 'taints', 'conditions'] as const)
      if (parts[kind]) metrics.countPatch(kind, 'dry-run');
    logger.info({ node: this.#name, withdrawal, set, taints, conditions }, 'Left a write out for the dry run');
    return 'nothing';
  }

  /** What follows from an attempt; `undefined` when the turn goes on. */
  async #conclude(attempt: WriteAttempt<P>): Promise<TurnEnd | undefined> {
    const { outcome } = attempt;
    switch (outcome.kind) {
      case 'applied':
        return this.#applied(attempt, attempt.plan, outcome.node, attempt.seen);
      case 'conflict':
        if (attempt.write !== 'set' && attempt.write !== 'conditions') break;
        if (attempt.write === 'conditions' && isTakenUnseen(attempt.seen, outcome.foreign)) break;
        if (attempt.write === 'set') {
          if (outcome.foreign.length === 0) return this.#takeMap(attempt);
          this.#deps.contested.wrote(attempt.plan.node, triedKeys(attempt.set, outcome.foreign));
        }
        return this.#leaveOut(
          attempt,
          outcome.foreign.map(({ ref, owner }) => ({ ...ref, cause: 'foreign', message: `owned by ${owner}` })),
        );
      case 'invalid':
        if (attempt.write === 'taints') return this.#leaveTaints(attempt.taints, outcome.message);
        if (attempt.write === 'conditions') return this.#findRefusedConditions(attempt);
        if (attempt.write === 'withdraw' || outcome.keys.length === 0) return this.#findRefused(attempt, 'invalid');
        return this.#leaveOut(
          attempt,
          outcome.keys.map((ref) => ({ ...ref, cause: 'invalid', message: outcome.message })),
        );
      case 'denied':
        if (attempt.write === 'taints') return this.#leaveTaints(attempt.taints, outcome.message);
        if (attempt.write === 'conditions') return this.#findRefusedConditions(attempt);
        return this.#findRefused(attempt, 'denied');
    }
    return endOf(outcome, this.#priority);
  }

  /** Nothing is left to write but what was refused. */
  #done(): TurnEnd {
    const refused = this.#taintsRefused ?? this.#conditionsRefused;
    if (refused === undefined) return { kind: 'holds' };
    return { kind: 'retry', error: new CodedError('WRITE_REFUSED', refused) };
  }

  #leaveTaints(change: TaintChange, message: string): undefined {
    this.#taintsRefused = message;
    const [key, ...others] = taintKeys(change);
    if (key !== undefined && others.length === 0) this.#refusedTaints.add(key);
  }

  /** The taints to write next. After a refusal one key at a time, so that a refused one holds up no other. */
  #nextTaints(change: TaintChange | undefined): TaintChange | undefined {
    if (!change || this.#taintsRefused === undefined) return change;
    const next = taintKeys(change).find((key) => !this.#refusedTaints.has(key));
    return next === undefined ? undefined : restrictTaints(change, (key) => key === next);
  }

  #applied(step: Step, plan: P, node: Node, seen: SeenNode | undefined): TurnEnd | undefined {
    this.#deps.contested.wrote(plan.node, writtenKeys(step, seen, node));
    for (const ref of step.write === 'set' && seen ? releasedKeys(step.set, seen) : []) {
      this.#deps.contested.released(this.#name, ref);
    }
    this.#handler.written(node, plan);
    this.#wrote = true;
    if (step.write === 'set') return plan.taints || plan.conditions ? undefined : this.#done();
    if (step.write === 'withdraw') for (const ref of keysOfWithdrawal(step.keys)) this.#withdrawn.add(entryKey(ref));
    // A taint to add keeps pods away as a withdrawal does, and is as urgent.
    if (step.write === 'withdraw' && plan.taints?.add.length) return undefined;
    // So does a condition.
    const { conditions } = plan;
    if (step.write !== 'conditions' && conditions?.write === 'apply' && conditions.keepsAway) return undefined;
    // What is left is not urgent: other Nodes' withdrawals go before it.
    return this.#priority === 'urgent' ? { kind: 'again', priority: 'normal' } : undefined;
  }

  #leaveOut(
    attempt: WriteAttempt<P, SetStep | ConditionStep>,
    keys: readonly ((KeyRef | ConditionRef) & Pick<SkippedKey, 'cause' | 'message'>)[],
  ): TurnEnd | undefined {
    const wanted = keys.flatMap((key) => {
      const value = wantedIn(attempt, key);
      return value === undefined ? [] : [{ ...key, wanted: value }];
    });
    if (this.#skip(attempt.plan.node, wanted)) return undefined;
    return { kind: 'retry', error: new CodedError('WRITE_REFUSED', 'Refused for keys that are skipped already') };
  }

  /** Returns whether any of them is skipped only now. */
  #skip(node: NodeRef, keys: readonly SkippedKey[]): boolean {
    const { unwritable, logger } = this.#deps;
    const added = unwritable.add(node, keys);
    if (added.length === 0) return false;
    logger.warn({ node: this.#name, keys: added }, 'Skipped keys');
    this.#handler.skipped(this.#name, added);
    return true;
  }

  /** Keys that are seen to be another manager's cost no request. The plan is made again without them. */
  #withoutForeign(plan: P | undefined): P | undefined {
    if (!plan?.foreign) return plan;
    this.#skip(plan.node, plan.foreign);
    return this.#handler.prepare(this.#name);
  }

  /** If no single condition is to blame, the rest of the plan goes on without them. */
  async #findRefusedConditions(attempt: WriteAttempt<P, ConditionStep>): Promise<TurnEnd | undefined> {
    const { plan, conditions } = attempt;
    const search = this.#search(attempt, this.#patientLane);
    const found = conditions.write === 'apply' ? await refusedInConditions(plan.node, conditions, search) : undefined;
    const keys = (found?.offending ?? []).map(
      ({ suspect, message }) => ({ kind: 'condition', key: suspect, cause: 'denied', message }) as const,
    );
    if (keys.length > 0) return this.#leaveOut(attempt, keys);
    if (found?.ended?.kind === 'stop') {
      return found.ended.stop.kind === 'yielded' ? undefined : endOf(found.ended.stop, this.#priority);
    }
    this.#conditionsRefused = attempt.outcome.kind === 'denied' ? attempt.outcome.message : 'Conditions were refused';
  }

  async #findRefused(
    attempt: WriteAttempt<P, Withdraw | SetStep>,
    cause: 'invalid' | 'denied',
  ): Promise<TurnEnd | undefined> {
    const { plan } = attempt;
    if (attempt.write === 'set') {
      const search = this.#search(attempt, this.#patientLane);
      const found = await refusedInSet(plan.node, attempt.set, this.#deps.observed(this.#name), search);
      const isSet = ({ ref }: { ref: KeyRef }) => valueIn(attempt.set, ref) !== undefined;
      const keys = found.offending.filter(isSet).map(({ ref, message }) => ({ ...ref, cause, message }));
      this.#refusedRemovals(
        plan.node,
        found.offending.filter((each) => !isSet(each)),
      );
      const end = keys.length > 0 ? this.#leaveOut(attempt, keys) : undefined;
      return end ?? this.#afterSearch(plan, found, this.#setOf(attempt.set, found.good));
    }
    const found = await refusedInWithdrawal(plan.node, attempt.keys, this.#search(attempt, this.#lane));
    this.#refusedRemovals(plan.node, found.offending);
    return this.#afterSearch(plan, found, {
      write: 'withdraw',
      urgent: attempt.urgent,
      keys: withdrawalOf(found.good),
    });
  }

  /** What a search for refused keys needs. */
  #search({ urgent }: Step, lane: Lane): SearchDependencies {
    const { writer, gate, limiter } = this.#deps;
    return {
      writer,
      probe: (send) =>
        limiter.run(lane, (slot) => gate.pass('probe', { node: this.#name, lane: this.#lane, slot }, send)),
      mustYield: () => !urgent && this.#isUrgent(),
    };
  }

  #refusedRemovals(node: NodeRef, offending: RefusedKeys['offending']): void {
    const keys = offending.map(({ ref, message }) => ({ ...ref, message }));
    this.#deps.refusedWithdrawals.add(node, keys);
    if (keys.length > 0) this.#deps.logger.warn({ node: this.#name, keys }, 'Was refused the removal of keys');
  }

  /** Names the rival of each key that is newly contested, by the Node as the rival left it. */
  async #tellOfContests(): Promise<void> {
    const { contested, writer, limiter, logger } = this.#deps;
    const news = contested.news(this.#name);
    if (news.length === 0) return;
    const isToAsk = news.some(({ isAdmission }) => !isAdmission);
    const node = isToAsk ? await limiter.run(this.#patientLane, () => writer.read(this.#name)) : undefined;
    for (const { ref, isAdmission, name } of news) if (!isAdmission) name(node && writersOf(node, ref));
    const keys = contested
      .keysFor(this.#name)
      .filter((key) => news.some(({ ref }) => ref.kind === key.kind && ref.key === key.key));
    logger.warn({ node: this.#name, keys }, 'Found keys that are changed back');
    this.#handler.contested(this.#name, keys);
  }

  /** Whether something is to be written that waits for nothing else. */
  #isUrgent(): boolean {
    const plan = this.#handler.prepare(this.#name);
    return plan !== undefined && this.#stepOf(plan)?.urgent === true;
  }

  #setOf(set: NodeSet, refs: readonly KeyRef[]): SetStep {
    return { write: 'set', urgent: false, set: restrictSet(set, refs, this.#deps.observed(this.#name)) };
  }

  /**
   * Another manager owns the empty map that labels or annotations are in. It is taken by force, only if the Node is
   * unchanged since the plan, and without keys that have another value there.
   */
  #takeMap({ plan, set }: { plan: P; set: NodeSet }): Promise<TurnEnd> {
    const seen = this.#deps.observed(this.#name);
    const safe = keysOfSet(set).filter((ref) => {
      const value = seen && valueIn(seen, ref);
      return value === undefined || value === valueIn(set, ref);
    });
    const step = this.#setOf(set, safe);
    return this.#writeNow(plan, { ...step, set: { ...step.set, force: true } });
  }

  /** Writes something else than was planned, and has the Node looked at again. */
  async #writeNow(plan: P, step: Withdraw | SetStep): Promise<TurnEnd> {
    const { limiter, observed } = this.#deps;
    const seen = observed(this.#name);
    const outcome = await limiter.run(this.#patientLane, (slot) => this.#write(plan.node, step, slot));
    if (!outcome) return { kind: 'dropped' };
    if (outcome.kind !== 'applied') return endOf(outcome, 'normal');
    this.#applied(step, plan, outcome.node, seen);
    return { kind: 'again', priority: 'normal' };
  }

  /** What follows from a search; `good` is what goes through, and does not wait for a search that goes on another time. */
  async #afterSearch(plan: P, found: RefusedKeys, good: Withdraw | SetStep): Promise<TurnEnd | undefined> {
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

/**
 * Whether another manager has changed a condition of rollcall, unseen as yet. An apply without it removes what rollcall
 * alone owns of it: until the watch shows the other owner, the write waits.
 */
function isTakenUnseen(seen: SeenNode | undefined, foreign: readonly { ref: KeyRef | ConditionRef }[]): boolean {
  return foreign.some(({ ref }) => seen?.conditionOwners?.ours.has(ref.key));
}
