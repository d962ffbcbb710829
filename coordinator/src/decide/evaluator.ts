import { type Clock, type Moment, momentOf } from '@rollcall/common/clock.ts';
import type { ActiveGuard } from '@rollcall/common/guards.ts';
import { WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Service } from '../model/services.ts';
import type { Fleet } from '../state/fleet.ts';
import type { NodeHolds } from '../state/holds/holds.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import { ConditionTexts } from './condition-texts.ts';
import { type GateMoment, GateWaits } from './gate-waits.ts';
import { BlastRadius, guardRemoval, type Note } from './guards/blast-radius.ts';
import { ObserverGuard } from './guards/observer.ts';
import { entryKey, intentOf, type NodeIntent } from './intent/intent.ts';
import type { AskSkipped, NodePlan } from './intent/plan.ts';
import { planNode } from './intent/plan-node.ts';
import { type EvictableLabels, evictableLabels } from './labelers/evictable-labels.ts';
import { type Budgeted, createLabelers, type LabelerOptions } from './labelers/index.ts';
import type { EvaluatedNode, Labelers } from './labelers/labeler.ts';
import type { StartupGateOptions } from './labelers/startup-gate.ts';
import { undecidedLabels } from './labelers/undecided-labels.ts';
import { type Judgement, type ReadinessOptions, ReadinessTracker, readinessOf } from './readiness/tracker.ts';
import { ServiceTally } from './service-tally.ts';
import { TaintBudget, withheldText } from './taint-budget.ts';
import { TakenLabels } from './taken-labels.ts';

export type EvaluatorOptions = Omit<LabelerOptions, Budgeted> &
  Pick<ReadinessOptions, 'isReported'> & {
    fleet: Fleet;
    /** The NodeHolds that keep a node. */
    holdsOn: (node: string) => NodeHolds;
    /** Keys that a plan leaves out for now. */
    skipped: {
      asking: (node: ObservedNode) => { ask: AskSkipped; leftOut: ReadonlySet<string> };
      settle: (node: ObservedNode, leftOut: ReadonlySet<string>) => void;
    };
    /** How long labels stay that many nodes would lose for what was configured; 0 not at all. */
    massWithdrawalDelayMs: number;
    clock: Clock;
  };

/** The result of observing a node. */
export type Observation = {
  evaluation: Evaluation;
  /** Services that begin to be held back. */
  heldBack: readonly Service[];
  /** Their startup deadline has just ended. */
  late: readonly Service[];
};

function momentsOf({ requires, maxWaitMs, daemonSets }: StartupGateOptions): GateMoment[] {
  if (!daemonSets) return [{ ms: maxWaitMs }];
  const { timeoutMs } = daemonSets;
  return [
    ...(requires.length > 0 ? [{ ms: maxWaitMs }] : []),
    { ms: timeoutMs / 2, news: 'half' },
    { ms: timeoutMs, news: 'over' },
  ];
}

/** The memory of one term that decisions depend on. Each term begins with a new one. */
class Memory {
  readonly observer: ObserverGuard;
  readonly texts = new ConditionTexts();
  readonly blastRadius: BlastRadius;
  readonly readiness: ReadinessTracker;
  readonly gates: GateWaits;
  readonly taints: TaintBudget;

  constructor(options: EvaluatorOptions) {
    const { fleet, services, isReported, eviction, factLabels, rules } = options;
    const nodesWith = (label: string) =>
      fleet.nodes().flatMap(({ name, labels }) => (labels[label] === undefined ? [] : name));
    this.blastRadius = new BlastRadius(options.massWithdrawalDelayMs, nodesWith);
    this.observer = new ObserverGuard(() => fleet.freshness.isKnown, options.clock.monotonic());
    this.readiness = new ReadinessTracker({
      services,
      observer: this.observer,
      ...(isReported ? { isReported } : {}),
      undecided: undecidedLabels(factLabels, rules),
    });
    this.gates = new GateWaits(momentsOf(options.startupGate));
    this.taints = new TaintBudget({
      nodes: () => fleet.nodes(),
      podsOn: (node) => fleet.servicePods.on(node),
      evicts: eviction !== undefined,
    });
  }
}

/** One node at one moment: what is known of it. */
export type Evaluation = {
  record: NodeRecord;
  node: ObservedNode;
  evaluated: EvaluatedNode;
  judgements: readonly Judgement[];
  now: Moment;
};

/**
 * What is wanted of a node and what would have to be written, made in the same moment as the evaluation: neither can be
 * computed later. Nothing of it changes what is decided later.
 */
export type Decision = Evaluation & {
  intent: NodeIntent;
  /** The pending plan; `undefined` when the Node is as it should be. */
  plan: NodePlan | undefined;
  /** The keys that the plan leaves out for now, by `kind:key`. */
  leftOut: ReadonlySet<string>;
  /** Notes of the removal guard, by label, for when the plan is carried out. */
  guardRecords: ReadonlyMap<string, () => void>;
};

/**
 * Decides about one node after the other. `evaluate` and `decide` are queries. What is remembered changes by what is
 * observed on Nodes, and by requests: while one is in flight (`sent`), by its answer (`wrote`), and when none is needed
 * (`rested`).
 */
export class Evaluator {
  readonly tally = new ServiceTally();
  readonly #options: EvaluatorOptions;
  readonly #labelers: Labelers;
  /** When kube-scheduler was last told, on a node, to try again there; RFC 3339. */
  readonly #hints = new WeakMap<NodeRecord, string>();
  /** Labels that are gone from nodes, where pods are evicted for it. */
  readonly #taken: TakenLabels | undefined;
  #memory: Memory;

  constructor(options: EvaluatorOptions) {
    const { eviction } = options;
    this.#options = options;
    this.#taken = eviction && new TakenLabels(eviction.isIgnored);
    this.#labelers = createLabelers({
      ...options,
      withheldTaint: (...asked) => this.#memory.taints.withheld(...asked),
      hasEvictionPlace: (...asked) => this.#memory.taints.hasEvictionPlace(...asked),
    });
    this.#memory = new Memory(options);
  }

  /** A term begins: what was remembered is of another time. */
  beginTerm(): void {
    this.#memory = new Memory(this.#options);
  }

  /** The node as it is known now; `undefined` for one that is not known. Changes nothing. */
  evaluate(name: string): Evaluation | undefined {
    const { fleet, holdsOn } = this.#options;
    const node = fleet.node(name);
    const record = fleet.record(name);
    const snapshot = fleet.snapshot(name);
    if (!node || !record || !snapshot) return undefined;
    const { readiness, gates, texts } = this.#memory;
    const now = momentOf(this.#options.clock);
    const judgements = readiness.judge(record, snapshot, now);
    const ageMs = now.wallMs - snapshot.createdAtMs;
    const evaluated: EvaluatedNode = {
      ...snapshot,
      readiness: readinessOf(judgements),
      holds: holdsOn(name),
      ageMs,
      isNew: record.isNew,
      waitedMs: gates.waitedMs(record, ageMs, now.monotonicMs),
      textsDue: texts.isDue(record, now.monotonicMs),
      schedulingHint: this.#hints.get(record),
      takenLabels: this.#taken?.of(record),
    };
    return { record, node, evaluated, judgements, now };
  }

  /** The same, with what is wanted of the node and what would have to be written. Changes nothing. */
  decide(name: string): Decision | undefined {
    const evaluation = this.evaluate(name);
    if (!evaluation) return undefined;
    const { node, evaluated, now } = evaluation;
    const guard = this.#memory.blastRadius;
    const guardRecords = new Map<string, () => void>();
    const note: Note = (key, record) => (record ? guardRecords.set(key, record) : guardRecords.delete(key));
    const intent = intentOf(this.#labelers, evaluated, (entry) => guardRemoval(entry, evaluated, { guard, now, note }));
    const { ask, leftOut } = this.#options.skipped.asking(node);
    const plan = planNode(node, intent, ask);
    // A label whose removal is left out does not leave the node.
    for (const key of guardRecords.keys()) {
      const id = entryKey({ kind: 'label', key });
      if (leftOut.has(id) && intent.get(id)?.stance === 'absent') guardRecords.delete(key);
    }
    return { ...evaluation, intent, plan, leftOut, guardRecords };
  }

  /** Evaluates the node and remembers what it shows. To be called at each change: of what comes and goes, nothing is missed. */
  observe(name: string): Observation | undefined {
    const evaluation = this.evaluate(name);
    if (!evaluation) return undefined;
    const { record, node, evaluated, judgements, now } = evaluation;
    const { readiness, gates, taints } = this.#memory;
    const { heldBack, late } = readiness.record(record, evaluated, judgements, now);
    gates.observe(record, node, { ageMs: evaluated.ageMs, nowMs: now.monotonicMs });
    this.#taken?.seen(record, node);
    this.tally.seen(name, evaluated.readiness);
    taints.observe(this.#options.services(), evaluated);
    return { evaluation, heldBack, late };
  }

  /**
   * A request of the plan is in flight. It holds the places that it needs until the returned function is called: those of
   * a request that was refused are free again. One of which that is not known may have removed labels.
   */
  sent({ node, evaluated, plan, guardRecords }: Decision): (isSettled: boolean) => void {
    const { fleet, services } = this.#options;
    const { taints, blastRadius } = this.#memory;
    for (const record of guardRecords.values()) record();
    const release = taints.reserve(services(), evaluated.name, plan);
    return (isSettled) => {
      const labels = fleet.node(node.name)?.labels ?? {};
      for (const key of isSettled ? (plan?.withdrawal?.labels ?? []) : []) {
        if (guardRecords.has(key) && labels[key] !== undefined) blastRadius.returned(node.name, key);
      }
      release(isSettled);
    };
  }

  /** Nothing of the node has to be written now. */
  rested({ node, evaluated, leftOut, guardRecords }: Decision): void {
    const { skipped, services } = this.#options;
    skipped.settle(node, leftOut);
    for (const record of guardRecords.values()) record();
    this.#memory.taints.rested(services(), evaluated);
  }

  /** A write of the plan was answered: labels that went may lead to evictions. */
  wrote({ record, node, evaluated, intent, plan }: Decision, answer: ObservedNode): void {
    const isTold = plan?.conditions?.write === 'apply' && plan.conditions.news.length > 0 && answer.conditions;
    if (isTold) this.#memory.texts.wrote(record, this.#options.clock.monotonic());
    if (!this.#taken) return;
    const keys = plan?.withdrawal?.labels ?? [];
    const causes = new Map(keys.map((key) => [key, intent.get(entryKey({ kind: 'label', key }))?.cause]));
    this.#taken.took(record, { keys, causes, before: node, after: answer });
    const note = plan?.set?.annotations[WITHDRAWN_LABELS_ANNOTATION];
    // The note that was made of them is there, or none of them is to be noted.
    const isWanted =
      intent.get(entryKey({ kind: 'annotation', key: WITHDRAWN_LABELS_ANNOTATION }))?.stance === 'present';
    const isNoted = note !== undefined && answer.annotations[WITHDRAWN_LABELS_ANNOTATION] === note;
    if (isNoted || (plan?.set && !isWanted)) this.#taken.noted(record, evaluated.takenLabels ?? {});
  }

  /** The labels of a node, and those for which pods may be evicted from it now. */
  evictable(name: string): EvictableLabels | undefined {
    const { fleet, services, rules } = this.#options;
    const node = fleet.node(name);
    const mayEvict = (service: Service) => node !== undefined && this.#memory.taints.mayEvict(service, node);
    return node && evictableLabels(node, () => this.evaluate(name)?.evaluated.readiness, { services, rules, mayEvict });
  }

  /** Has the node changed in a way that lets kube-scheduler try again there. */
  hint(name: string): void {
    const record = this.#options.fleet.record(name);
    // Includes milliseconds, so that two hints in one second differ.
    if (record) this.#hints.set(record, new Date(this.#options.clock.now()).toISOString());
  }

  /** Objects that labels depend on were changed or deleted. */
  configured(objects: Iterable<string>): void {
    this.#memory.blastRadius.changed(objects, this.#options.clock.monotonic());
  }

  /** Nodes on which a service is no longer held back, or that have waited for long at the startup gate. */
  due(): { released: readonly string[]; gated: ReturnType<GateWaits['due']>; waited: readonly string[] } {
    const nowMs = this.#options.clock.monotonic();
    const { readiness, gates, texts } = this.#memory;
    const released = [...readiness.released(nowMs), ...this.unguarded()];
    return { released, gated: gates.due(nowMs), waited: texts.tick(nowMs) };
  }

  /** Nodes on which a guard no longer delays anything. */
  unguarded(): string[] {
    const nowMs = this.#options.clock.monotonic();
    const { observer, blastRadius } = this.#memory;
    return [...observer.tick(nowMs), ...blastRadius.tick(nowMs)];
  }

  /** Nodes that may find a place in the budget of a service now. */
  takeWaiting(): ReadonlySet<string> {
    return this.#memory.taints.takeWaiting();
  }

  /** What its budget and its pods keep from nodes of a service now, for people; `undefined` if nothing. */
  withheld(service: string, namesMax: number): string | undefined {
    const found = this.#memory.taints.withholdingOf(service);
    return found && withheldText(found, this.#options.fleet.servicePods, namesMax);
  }

  /** The guards that act now. Those of dry runs are left out. */
  guards(): ActiveGuard[] {
    const { observer, blastRadius } = this.#memory;
    const { fleet, clock, services } = this.#options;
    const inForce = new Set(services().flatMap(({ name, dryRun }) => (dryRun ? [] : name)));
    const waiting = [...this.#memory.taints.waiting()].map(
      ([of, nodes]) => ({ subject: 'taint-budget', of, nodes }) as const,
    );
    const held = [
      ...fleet.guards(),
      ...observer.held().filter(({ of }) => inForce.has(of)),
      ...blastRadius.held(clock.monotonic()),
    ];
    return [...held, ...waiting];
  }

  /** How many services are held back, since they come and go. */
  get heldBackCount(): number {
    return this.#memory.readiness.heldCount;
  }

  /** A node changed while this replica does not decide, and may be asked all the same. */
  changed(name: string): void {
    const node = this.#options.fleet.node(name);
    if (node) this.#memory.taints.changed(this.#options.services(), node);
  }

  /** The Node is gone. */
  forget(name: string): void {
    const { observer, blastRadius, taints } = this.#memory;
    this.tally.forget(name);
    for (const each of [taints, observer, blastRadius]) each.forget(name);
  }
}
