import type { Clock } from '@rollcall/common/clock.ts';
import { guarded } from '@rollcall/common/guarded.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { Slices } from '@rollcall/common/slices.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { Decision, Evaluator } from '../decide/evaluator.ts';
import type { GateMoment } from '../decide/gate-waits.ts';
import { SETTLE_MS } from '../decide/guards/blast-radius.ts';
import { type ChangeLog, changesBetween } from '../decide/intent/changes.ts';
import { entryKey } from '../decide/intent/intent.ts';
import type { ContestedKey, NodePlan, SkippedKey } from '../decide/intent/plan.ts';
import { ruleOf } from '../decide/labelers/implied-labels.ts';
import { labelsOfPool } from '../decide/labelers/pool-labels.ts';
import { isOlderVersion, type Node } from '../kube/objects.ts';
import type { Service } from '../model/services.ts';
import type { Fleet, FleetListener } from '../state/fleet.ts';
import type { WriteHandler } from '../write/node-turn.ts';
import type { SkippedKeys } from '../write/skipped-keys.ts';
import type { WriteQueue } from '../write/write-queue.ts';
import type { Subscribers } from './subscribers.ts';
import { type Transition, Transitions } from './transitions.ts';

export type NodeControllerOptions = {
  fleet: Fleet;
  evaluator: Evaluator;
  skipped: SkippedKeys;
  subscribers: Subscribers;
  services: () => readonly Service[];
  writer: WriteQueue<PreparedPlan>;
  /** Gets what each write changed. */
  changes: ChangeLog;
  /** Whether what is known is fit to decide by; until then nothing is planned. */
  mayDecide: () => boolean;
  /** Other keys are wanted than before, or by others. */
  ownersChanged: () => void;
  /** An answer shows an older version than was known: what is watched is of another history. */
  historyWentBack: () => void;
  clock: Clock;
  logger: Logger;
};

/** A plan with the decision that it comes from. */
export type PreparedPlan = NodePlan & { decision: Decision };

/**
 * Takes each change of what is known of a node: observes the node, enqueues it for the writer, and tells the subscribers.
 * When the writer takes the node, prepares its plan; when a write was answered, records what it changed.
 */
export class NodeController implements FleetListener, WriteHandler<PreparedPlan> {
  readonly #options: NodeControllerOptions;
  readonly #transitions: Transitions;
  /** Nodes that changed in one moment with more others than can be observed in it. */
  readonly #unobserved = new Set<string>();
  /** The time that observing may take until the loop goes on. */
  #moment: Slices | undefined;
  #cancelSettling = () => {};

  constructor(options: NodeControllerOptions) {
    this.#options = options;
    this.#transitions = new Transitions(options.services);
    options.fleet.onChange(this);
    options.writer.serve(this);
  }

  /** A term of leadership begins: what was heard and evaluated before is of another time. */
  beginTerm(): void {
    const { evaluator, subscribers, fleet } = this.#options;
    evaluator.beginTerm();
    subscribers.restart();
    fleet.beginTerm();
  }

  /** Whether nodes that changed are still to be observed. */
  get isCatchingUp(): boolean {
    return this.#unobserved.size > 0;
  }

  // What the state tells.

  /** Handles a change of what is known of a node. `urgent`: a label may have to go. */
  changed(name: string, urgent: boolean): void {
    const { mayDecide, clock } = this.#options;
    if (!mayDecide()) this.#options.evaluator.changed(name);
    else if (this.#hasTime()) this.#observe(name);
    else this.#observeLater(name);
    this.#options.writer.add(name, { priority: urgent ? 'urgent' : 'normal', dirtySinceMs: clock.monotonic() });
  }

  /** Only the resource version of the Node changed. */
  versionChanged(name: string): void {
    this.#options.writer.caughtUp(name);
  }

  /** The Node is gone. A Node that comes later under the same name is another one. */
  gone(name: string): void {
    this.#options.subscribers.gone(name);
    this.#options.evaluator.forget(name);
    this.#options.writer.forget(name);
    this.#unobserved.delete(name);
  }

  poolsChanged(pools: ReadonlySet<string>): void {
    this.#options.ownersChanged();
    this.#configured([...pools].map(labelsOfPool));
  }

  /** NodeServices with these uids were changed or deleted. */
  servicesChanged(uids: readonly string[]): void {
    if (uids.length > 0) this.#configured(uids.map((uid) => `service:${uid}`));
    this.#options.fleet.markAll();
  }

  /** Rules were changed, by the label that each implies. If no rule is left, that is not the change of one of them. */
  rulesChanged(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): void {
    const changed = [...before.keys()].filter((label) => before.get(label) !== after.get(label));
    if (after.size > 0) this.#configured(changed.map(ruleOf));
    this.#options.fleet.markAll();
  }

  /** Handles changes that only depend on time. Call it once a second. */
  tick(): void {
    const { fleet, evaluator, skipped } = this.#options;
    fleet.tick();
    skipped.tick();
    const { released, gated, waited } = evaluator.due();
    for (const { name, news } of gated) this.#waitsLong(name, news);
    for (const node of released) this.changed(node, false);
    for (const node of waited) this.#options.writer.add(node);
    for (const node of evaluator.takeWaiting()) this.changed(node, false);
    this.#tell(this.#transitions.guards(fleet.term, evaluator.guards()));
  }

  /** A node has waited for long at the startup gate: it is opened, or people are told for what it waits on. */
  #waitsLong(name: string, news: GateMoment['news']): void {
    const { evaluator, writer } = this.#options;
    const decision = evaluator.decide(name);
    const gate = decision?.intent.get(entryKey({ kind: 'taint', key: STARTUP_TAINT }));
    if (decision && news && gate?.stance === 'keep' && gate.awaitsDaemonSets) {
      const { missing = [] } = gate;
      this.#tell([{ kind: 'gate-waits', node: decision.evaluated, missing, isOver: news === 'over' }]);
    }
    writer.add(name);
  }

  #hasTime(): boolean {
    if (!this.#moment) queueMicrotask(() => (this.#moment = undefined));
    this.#moment ??= new Slices(this.#options.clock);
    return !this.#moment.isOver;
  }

  #observeLater(name: string): void {
    this.#unobserved.add(name);
    if (this.#unobserved.size === 1) void this.#observeRest();
  }

  async #observeRest(): Promise<void> {
    const { mayDecide, evaluator, clock, logger } = this.#options;
    const slices = new Slices(clock);
    for (const name of this.#unobserved) {
      await slices.pause();
      guarded(logger, 'a node', () => (mayDecide() ? this.#catchUp(name) : evaluator.changed(name)));
      this.#unobserved.delete(name);
    }
  }

  #catchUp(name: string): void {
    if (this.#unobserved.has(name)) this.#observe(name);
  }

  #observe(name: string): void {
    const { evaluator, subscribers } = this.#options;
    this.#unobserved.delete(name);
    const observation = evaluator.observe(name);
    if (!observation) return;
    const { record, node, evaluated } = observation.evaluation;
    this.#transitions.firstSeen(record, node, evaluated);
    this.#tell([
      ...observation.heldBack.map((service): Transition => ({ kind: 'held-back', node: evaluated, service })),
      ...observation.late.map((service): Transition => ({ kind: 'late', node: evaluated, service })),
    ]);
    subscribers.changed(name);
  }

  #tell(transitions: readonly Transition[]): void {
    if (transitions.length > 0) this.#options.subscribers.happened(transitions);
  }

  #configured(objects: readonly string[]): void {
    const { evaluator, clock } = this.#options;
    evaluator.configured(objects);
    this.#cancelSettling();
    this.#whenSettled(clock.monotonic() + SETTLE_MS);
  }

  /** Whether a change was a single one is not known before. A timer may come early. */
  #whenSettled(settledMs: number): void {
    const { evaluator, clock } = this.#options;
    const leftMs = settledMs - clock.monotonic();
    if (leftMs > 0) this.#cancelSettling = clock.after(Math.ceil(leftMs), () => this.#whenSettled(settledMs));
    else for (const node of evaluator.unguarded()) this.changed(node, false);
  }

  // What the writer asks and tells.

  /** The plan for a node now; without a part where the Node is as it should be. Changes nothing. */
  prepare(name: string): PreparedPlan | undefined {
    const { evaluator, mayDecide } = this.#options;
    if (mayDecide()) this.#catchUp(name);
    const decision = mayDecide() ? evaluator.decide(name) : undefined;
    if (!decision) return undefined;
    const { uid, resourceVersion } = decision.node;
    return { node: { name, uid, resourceVersion }, ...decision.plan, decision };
  }

  sent({ decision }: PreparedPlan): (isSettled: boolean) => void {
    return this.#options.evaluator.sent(decision);
  }

  rested({ decision }: PreparedPlan): void {
    this.#options.evaluator.rested(decision);
  }

  /** Takes the answer to a write, and tells what it changed, and why. */
  written(written: Node, { decision }: PreparedPlan): void {
    const { fleet, evaluator, clock, logger } = this.#options;
    const { record, node: before, evaluated, intent } = decision;
    const answer = fleet.observe(written);
    evaluator.wrote(decision, answer);
    fleet.written(answer);
    // The places that the request held are free from now on: what the Node shows has to be counted.
    this.#catchUp(before.name);
    if (isOlderVersion(answer.resourceVersion, before.resourceVersion)) this.#options.historyWentBack();
    // Not the Node as it is known by now: the watch may have delivered a newer version before the answer came. For people,
    // what the answer does not show is as it was.
    const { taints = before.taints, conditions = before.conditions } = answer;
    const after = { ...answer, taints, conditions };
    const changes = changesBetween(before, after, intent);
    this.#options.changes.add(record, changes, clock.now());
    if (changes.length > 0) logger.info({ node: before.name, changes }, 'Changed a node');
    const opened = changes.find(({ kind, key, to }) => kind === 'taint' && key === STARTUP_TAINT && to === undefined);
    const missing = (opened && intent.get(entryKey(opened))?.missing) ?? [];
    this.#tell([
      ...this.#transitions.shown(record, after, evaluated),
      ...(opened ? [{ kind: 'gate-opened' as const, node: evaluated, missing }] : []),
    ]);
  }

  contested(name: string, keys: readonly ContestedKey[]): void {
    const node = this.#options.fleet.node(name);
    if (node) this.#tell(keys.map((key) => ({ kind: 'contested', node, key })));
  }

  /** Keys are skipped, and no write follows. */
  skipped(name: string, keys: readonly SkippedKey[]): void {
    const { fleet, subscribers } = this.#options;
    const node = fleet.node(name);
    const conditions = keys.filter(({ kind, cause }) => kind === 'condition' && cause === 'foreign');
    if (node) this.#tell(conditions.map((key) => ({ kind: 'left-alone', node, key })));
    subscribers.changed(name);
  }
}
