import { CodedError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { entryKey } from '../decide/intent/intent.ts';
import type { SeenNode, Write } from '../decide/intent/kinds/kind.ts';
import { WRITES } from '../decide/intent/kinds/kinds.ts';
import { keysOfSet, restrictSet, valueIn } from '../decide/intent/kinds/metadata.ts';
import {
  type ContestedKey,
  keyRefs,
  type NodeKeyRef,
  type NodePlan,
  type NodeRef,
  type NodeSet,
  type SkippedKey,
} from '../decide/intent/plan.ts';
import type { Node } from '../kube/objects.ts';
import type { WriteOutcome } from './classify.ts';
import type { LostWrites } from './lost-writes.ts';
import type { ApplyMetrics } from './metrics.ts';
import type { NodeWriter } from './node-writer.ts';
import { findRefused, type SearchDependencies } from './refused-keys.ts';
import type { RefusedKey, SkippedKeys } from './skipped-keys.ts';
import { DROPPED, endOf, type TurnEnd } from './turn-end.ts';
import type { Lane, Priority, WorkItem } from './work-queue.ts';
import type { WriteGate } from './write-gate.ts';
import { refusedIn, writersOf, writtenKeys } from './written-keys.ts';

/** Prepares what is written, and hears of what came of it. `P` is a plan with what it was made from. */
export type WriteHandler<P extends NodePlan = NodePlan> = {
  /**
   * What has to be written to a Node now, without the keys that are skipped; `undefined` when it is not known. A query: the
   * writer asks as often as it likes.
   */
  prepare: (nodeName: string) => P | undefined;
  /**
   * A request of the plan is in flight, until the returned function is called: with whether it is known what it did, and
   * what those before it did.
   */
  sent: (plan: P) => (isSettled: boolean) => void;
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
  skipped: SkippedKeys;
  lost: LostWrites;
  metrics: ApplyMetrics;
  logger: Logger;
  /** Says what would be written instead of writing it. */
  dryRun: boolean;
};

/** A round that does not end the turn has skipped a key, or met a refusal that was over a moment later. */
const ROUNDS_MAX = 16;

/** One request. What is urgent keeps pods away, and waits for nothing that is not. */
type Step = Write & { urgent: boolean };
type WriteAttempt<P extends NodePlan> = Step & {
  plan: P;
  seen: SeenNode | undefined;
  outcome: WriteOutcome;
  ended: (isSettled: boolean) => void;
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
  /** What the API server said when it refused all changes of taints, or of conditions; the rest of the plan does not wait. */
  readonly #refusedWhole = new Map<Step['write'], string>();
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
      const attempt = (await this.#deps.gate.run(this.#lane, () => this.#writeNext())) ?? DROPPED;
      if (attempt === 'read') continue;
      if (!('outcome' in attempt)) return attempt;
      const isAnswered = attempt.outcome.kind !== 'failed';
      const end = await this.#conclude(attempt).finally(() => attempt.ended(isAnswered && !this.#isInDoubt));
      if (end) return end;
    }
    return { kind: 'retry', error: undefined };
  }

  async #writeNext(): Promise<WriteAttempt<P> | TurnEnd | 'read'> {
    const { writer, dryRun } = this.#deps;
    // Checked before the plan is made too, because a standby receives every change as well.
    if (!writer.mayBegin) return DROPPED;
    const seen = this.#deps.observed(this.#name);
    if (seen) this.#deps.skipped.observe(seen);
    const plan = this.#withoutForeign(this.#handler.prepare(this.#name));
    if (!plan) return this.#done();
    if (dryRun) return this.#pretend(plan);
    const step = this.#stepOf(plan);
    if (!step) return this.#rest(plan);
    const ended = this.#handler.sent(plan);
    const outcome = await this.#write(plan.node, step).catch((error: unknown) => {
      ended(false);
      throw error;
    });
    return { ...step, plan, seen, outcome, ended };
  }

  /**
   * A write that was not answered may have been carried out, and the watch may not have shown it yet. The next one is good
   * for the Node as it was observed only, since what it leaves out may be there by now. What is urgent waits for nothing.
   */
  async #write(node: NodeRef, step: Step): Promise<WriteOutcome> {
    const { gate, writer, lost } = this.#deps;
    const context = { node: this.#name, lane: this.#lane };
    const ifUnchanged = !step.urgent && lost.isLast(this.#name);
    // Where whole Nodes are watched, an answer leaves nothing unknown.
    const whole = this.#deps.observed(this.#name)?.taints !== undefined;
    const closes = step.write === 'taints' && step.taints.add.length > 0;
    let closesUntilMs: number | undefined;
    const outcome = await gate.pass(step.write, context, ({ untilMs, ...limits }) => {
      if (closes) closesUntilMs = untilMs;
      return writer.send(node, step, { ...limits, ifUnchanged, whole });
    });
    if (outcome.kind === 'failed') lost.failed(this.#name, closesUntilMs);
    if (outcome.kind === 'applied') lost.applied(this.#name);
    return outcome;
  }

  /** Whether a request that adds a taint was not answered, and the Node was not read since. */
  get #isInDoubt(): boolean {
    return this.#deps.lost.readableAtMs(this.#name) !== undefined;
  }

  /**
   * Nothing has to be written to the Node as it was observed. Where a request that adds a taint was not answered and was
   * carried out, the taint takes a place in the budget of its service, so the Node is read before it rests.
   */
  async #rest(plan: P): Promise<TurnEnd | 'read'> {
    const { gate, writer, lost } = this.#deps;
    const readableAtMs = lost.readableAtMs(this.#name);
    if (readableAtMs === undefined) {
      lost.rests(this.#name);
      this.#handler.rested(plan);
      return this.#done();
    }
    const delayMs = readableAtMs - gate.nowMs;
    if (delayMs > 0) return { kind: 'later', priority: 'normal', delayMs };
    const node = await writer.read(this.#name, { whole: true });
    if (!node) return { kind: 'retry', error: undefined };
    lost.read(this.#name);
    this.#handler.written(node, plan);
    return 'read';
  }

  /** The lane of what is not urgent. */
  get #patientLane(): Lane {
    return this.#lane === 'slow' ? 'slow' : 'normal';
  }

  /** What is to be written next. */
  #stepOf(plan: NodePlan): Step | undefined {
    const isDone = (ref: NodeKeyRef) => this.#withdrawn.has(entryKey(ref));
    const steps = Object.values(WRITES)
      .flatMap((each): Step[] => each.steps(plan, isDone))
      .filter(({ write }) => !this.#refusedWhole.has(write));
    return steps.find(({ urgent }) => urgent) ?? steps[0];
  }

  /** What would be written counts as under way until the Node is looked at again: further writes would have to wait for it. */
  #pretend(plan: P): TurnEnd {
    const { withdrawal, set, taints, conditions } = plan;
    this.#handler.rested(plan);
    const parts = { withdraw: withdrawal, set, taints, conditions };
    const kinds = (Object.keys(WRITES) as Write['write'][]).filter((kind) => parts[kind]);
    if (kinds.length === 0) return this.#done();
    this.#handler.sent(plan);
    for (const kind of kinds) this.#deps.metrics.countPatch(kind, 'dry-run');
    this.#deps.logger.info({ node: this.#name, ...parts }, 'Left a write out for the dry run');
    return this.#done();
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
        if (attempt.write === 'set' && outcome.foreign.length === 0) return this.#takeMap(attempt.plan, attempt.set);
        return this.#leaveOut(
          attempt,
          outcome.foreign.map(({ ref, owner }) => ({ ref, message: `owned by ${owner}` })),
          'foreign',
        );
      case 'invalid':
        if (attempt.write !== 'set' || outcome.keys.length === 0) return this.#findRefused(attempt, 'invalid');
        return this.#leaveOut(
          attempt,
          outcome.keys.map((ref) => ({ ref, message: outcome.message })),
          'invalid',
        );
      case 'denied':
        return this.#findRefused(attempt, 'denied');
    }
    return endOf(outcome, this.#priority);
  }

  /** Nothing is left to write but what was refused as a whole. */
  #done(): TurnEnd {
    const [refused] = this.#refusedWhole.values();
    if (refused === undefined) return { kind: 'holds' };
    return { kind: 'retry', error: new CodedError('WRITE_REFUSED', refused) };
  }

  #applied(step: Step, plan: P, node: Node, seen: SeenNode | undefined): TurnEnd | undefined {
    this.#deps.skipped.wrote(plan.node, writtenKeys(step, seen, node));
    for (const ref of (seen && WRITES[step.write].released?.(step, seen)) ?? [])
      this.#deps.skipped.released(this.#name, ref);
    this.#handler.written(node, plan);
    this.#wrote = true;
    if (step.write === 'set') return plan.taints || plan.conditions ? undefined : this.#done();
    if (step.write === 'withdraw')
      for (const ref of keyRefs(step.keys.labels, step.keys.annotations)) this.#withdrawn.add(entryKey(ref));
    // A taint to add keeps pods away as a withdrawal does, and is as urgent.
    if (step.write === 'withdraw' && plan.taints?.add.length) return undefined;
    // So does a condition.
    const { conditions } = plan;
    if (step.write !== 'conditions' && conditions?.write === 'apply' && conditions.keepsAway) return undefined;
    // What is left is not urgent: other Nodes' withdrawals go before it.
    return this.#priority === 'urgent' ? { kind: 'again', priority: 'normal' } : undefined;
  }

  /** The turn goes on without the keys that the write was refused for. */
  #leaveOut(
    attempt: WriteAttempt<P>,
    refused: readonly { ref: NodeKeyRef; message: string }[],
    cause: RefusedKey['cause'],
  ): TurnEnd | undefined {
    const keys = refusedIn(attempt, refused, { cause, ahead: attempt.plan.ahead });
    if (keys.length === 0) return { kind: 'retry', error: undefined };
    this.#skip(attempt.plan.node, keys, true);
    return undefined;
  }

  #skip(node: NodeRef, keys: readonly RefusedKey[], wasSent: boolean): void {
    const seen = this.#deps.observed(this.#name);
    const added = this.#deps.skipped.refused(node, keys, { seen, wasSent });
    if (added.length === 0) return;
    this.#deps.logger.warn({ node: this.#name, keys: added }, 'Skipped keys');
    this.#handler.skipped(this.#name, added);
  }

  /** Keys that are seen to be another manager's cost no request. The plan is made again without them. */
  #withoutForeign(plan: P | undefined): P | undefined {
    if (!plan?.foreign) return plan;
    this.#skip(plan.node, plan.foreign, false);
    return this.#handler.prepare(this.#name);
  }

  /** Leaves out the keys that the write was refused for. What goes through does not wait for a search that goes on later. */
  async #findRefused(attempt: WriteAttempt<P>, cause: 'invalid' | 'denied'): Promise<TurnEnd | undefined> {
    const { plan, urgent, write } = attempt;
    const seen = this.#deps.observed(this.#name);
    const { offending, good, ended } = await findRefused(plan.node, attempt, seen, this.#search(attempt));
    if (offending.length > 0) this.#leaveOut(attempt, offending, cause);
    switch (ended?.kind) {
      case 'probes-spent':
        return good ? this.#writeNow(plan, { ...good, urgent }) : { kind: 'again', priority: 'normal' };
      case 'whole-refused':
        if (write === 'set' || write === 'withdraw')
          return { kind: 'retry', error: new CodedError('WRITE_REFUSED', ended.message) };
        this.#refusedWhole.set(write, ended.message);
        return undefined;
      case 'stop':
        return ended.stop.kind === 'yielded' ? undefined : endOf(ended.stop, this.#priority);
    }
    return undefined;
  }

  /** What a search for refused keys needs. */
  #search({ urgent, write }: Step): SearchDependencies {
    const { writer, gate } = this.#deps;
    const lane = urgent || write === 'withdraw' ? this.#lane : this.#patientLane;
    return {
      writer,
      probe: (send) => gate.run(lane, () => gate.pass('probe', { node: this.#name, lane: this.#lane }, send)),
      mustYield: () => !urgent && this.#isUrgent(),
    };
  }

  /** Names the rival of each key that is newly contested, by the Node as the rival left it. */
  async #tellOfContests(): Promise<void> {
    const { skipped, writer, gate, logger } = this.#deps;
    const news = skipped.news(this.#name);
    if (news.length === 0) return;
    const isToAsk = news.some(({ isAdmission }) => !isAdmission);
    const node = isToAsk ? await gate.run(this.#patientLane, () => writer.read(this.#name)) : undefined;
    const keys = news.map(({ key, isAdmission, name }): ContestedKey => {
      return { ...key, rival: name(isAdmission || !node ? undefined : writersOf(node, key)) };
    });
    logger.warn({ node: this.#name, keys }, 'Found keys that are changed back');
    this.#handler.contested(this.#name, keys);
  }

  /** Whether something is to be written that waits for nothing else. */
  #isUrgent(): boolean {
    const plan = this.#handler.prepare(this.#name);
    return plan !== undefined && this.#stepOf(plan)?.urgent === true;
  }

  /**
   * Another manager owns the empty map that labels or annotations are in. It is taken by force, only if the Node is
   * unchanged since the plan, and without keys that have another value there.
   */
  #takeMap(plan: P, set: NodeSet): Promise<TurnEnd> {
    const seen = this.#deps.observed(this.#name);
    const safe = keysOfSet(set).filter((ref) => {
      const value = seen && valueIn(seen, ref);
      return value === undefined || value === valueIn(set, ref);
    });
    const taken = { ...restrictSet(set, safe, seen), force: true };
    return this.#writeNow(plan, { write: 'set', urgent: false, set: taken });
  }

  /** Writes something else than was planned, and has the Node looked at again. */
  async #writeNow(plan: P, step: Step): Promise<TurnEnd> {
    const { gate, observed } = this.#deps;
    const seen = observed(this.#name);
    const outcome = await gate.run(this.#patientLane, () => this.#write(plan.node, step));
    if (!outcome) return DROPPED;
    if (outcome.kind !== 'applied') return endOf(outcome, 'normal');
    this.#applied(step, plan, outcome.node, seen);
    return { kind: 'again', priority: 'normal' };
  }
}

/**
 * Whether another manager has changed a condition of rollcall, unseen as yet. An apply without it removes what rollcall
 * alone owns of it: until the watch shows the other owner, the write waits.
 */
function isTakenUnseen(seen: SeenNode | undefined, foreign: readonly { ref: NodeKeyRef }[]): boolean {
  return foreign.some(({ ref }) => seen?.conditionOwners?.ours.has(ref.key));
}
