import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { STARTUP_TAINT, WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { ContestedKeys } from '../apply/contested-keys.ts';
import { NodeWriter } from '../apply/node-writer.ts';
import { Reconciler } from '../apply/reconciler.ts';
import { SetAside } from '../apply/set-aside.ts';
import { Fleet } from '../fleet/fleet.ts';
import type { NodeRecord } from '../fleet/node-record.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';
import type { NodeHolds } from '../holds/holds.ts';
import type { KubeClient, WriteFence } from '../kube/client.ts';
import type { Node } from '../kube/objects.ts';
import { FirstTaints, type FirstTaintsOptions } from './first-taints.ts';
import type { Announcing, Following } from './followers.ts';
import { GateWaits } from './gate-waits.ts';
import { BlastRadius, SETTLE_MS } from './guards/blast-radius.ts';
import { guardRemoval } from './guards/guard-removals.ts';
import type { HeldWithdrawals } from './guards/held-withdrawals.ts';
import { ObserverGuard } from './guards/observer.ts';
import { ChangeLog, changesBetween } from './intent/changes.ts';
import { entryKey, intentOf, type NodeIntent } from './intent/intent.ts';
import type { NodePlan, SetAsideKey } from './intent/plan.ts';
import { planNode } from './intent/plan-node.ts';
import { type EvictableLabels, evictableLabels } from './labelers/evictable-labels.ts';
import { ruleOf } from './labelers/implied-labels.ts';
import { createLabelers, type LabelerOptions } from './labelers/index.ts';
import type { JudgedNode, Labelers } from './labelers/labeler.ts';
import { setOfPool } from './labelers/pool-labels.ts';
import { missingAtGate } from './labelers/startup-gate.ts';
import type { NodeFacts, Witness } from './node-facts.ts';
import { ReadinessTracker } from './readiness/tracker.ts';
import { ServiceTally } from './service-tally.ts';
import { TakenLabels } from './taken-labels.ts';
import { type Proposal, WhatIf } from './what-if.ts';

export type DeciderOptions = Omit<LabelerOptions, 'mayTaint' | 'mayClear'> & {
  /** Whether the services are all known. */
  servicesKnown: () => boolean;
  /** What keeps a node because of NodeHolds. */
  holdsOn: (node: string) => NodeHolds;
  firstTaints: Omit<FirstTaintsOptions, 'nodes'>;
  /** Pods are known by which a service may be in force no more. */
  onPodsKnown?: () => void;
  client: KubeClient;
  fence: WriteFence;
  poolLabels: readonly string[];
  /** Whether all annotations of Nodes are kept, for those who are told of them. */
  allAnnotations: boolean;
  followUps: Following;
  windowMs: number;
  guardPercent: number;
  /** How long labels stay that many nodes would lose for what was configured; 0 not at all. */
  massWithdrawalDelayMs: number;
  dryRun: boolean;
  /** Whether what is known is fit to decide by; until then nothing is planned. */
  mayDecide: () => boolean;
  clock: Clock;
  random: () => number;
  logger: Logger;
  registry: Registry;
  announcer: Announcing;
};

/** A node as it was, and what was thought of it, when it was planned. */
type Grounds = { record: NodeRecord; node: ObservedNode; judged: JudgedNode };

/** The way from what is known to what is written: fleet, readiness, labelers, intent, and the reconciler at its end. */
export class Decider {
  readonly fleet: Fleet;
  readonly reconciler: Reconciler;
  readonly setAside: SetAside;
  readonly contested: ContestedKeys;
  readonly changes = new ChangeLog();
  readonly tally = new ServiceTally();
  /** Of this term. */
  firstTaints: FirstTaints;
  /** When kube-scheduler was last told, on a node, to try again there; RFC 3339. */
  readonly #hints = new WeakMap<NodeRecord, string>();
  /** Where pods are evicted for it. */
  readonly #taken: TakenLabels | undefined;
  readonly #options: DeciderOptions;
  readonly #labelers: Labelers;
  #ruleLabels: ReadonlyMap<string, string>;
  readonly #grounds = new WeakMap<NodePlan, Grounds>();
  // Of this term.
  #readiness: ReadinessTracker;
  #gates: GateWaits;
  #observer = new ObserverGuard();
  #blastRadius: BlastRadius;
  #cancelSettling = () => {};

  constructor(options: DeciderOptions) {
    const { clock, client, eviction } = options;
    this.#options = options;
    this.#taken = eviction && new TakenLabels(eviction.isIgnored);
    this.#blastRadius = this.#newBlastRadius();
    this.#labelers = createLabelers({
      ...options,
      mayTaint: (...asked) => this.firstTaints.mayTaint(...asked),
      mayClear: (...asked) => this.firstTaints.mayClear(...asked),
    });
    this.#ruleLabels = options.rules?.().labels ?? new Map();
    this.setAside = new SetAside(clock);
    this.contested = new ContestedKeys(clock);
    this.#readiness = this.#newReadiness();
    this.#gates = new GateWaits(options.startupGate.maxWaitMs);
    this.firstTaints = this.#newFirstTaints();
    this.fleet = new Fleet({
      ...options,
      questions: () => options.rules?.().questions ?? [],
      annotationsOfInterest: options.keys.names('annotation'),
      onDirty: (node, urgent) => this.#look(node, urgent),
      onNodeVersion: (node) => this.reconciler.caughtUp(node),
      onNodeGone: (node) => this.#forget(node),
      onPodsKnown: () => {
        options.onPodsKnown?.();
        this.fleet.markAll();
      },
      onPoolsChanged: (pools) => this.#configured([...pools].map(setOfPool)),
    });
    this.reconciler = new Reconciler({
      ...options,
      plan: (node) => this.plan(node),
      observed: (node) => this.fleet.node(node),
      onWritten: (node, plan) => this.#written(node, plan),
      onContested: (node, keys) => {
        const known = this.fleet.node(node);
        if (known) options.announcer.contested(known, keys);
      },
      onSetAside: (node, keys) => this.#leftOut(node, keys),
      writer: new NodeWriter(client),
      setAside: this.setAside,
      contested: this.contested,
    });
  }

  /** What has to be written to a node now; `undefined` when it is as it should be, or is not known. */
  plan(name: string): NodePlan | undefined {
    const grounds = this.#options.mayDecide() ? this.#groundsOf(name) : undefined;
    return grounds && this.#planBy(grounds);
  }

  #planBy(grounds: Grounds): NodePlan | undefined {
    const { node, judged } = grounds;
    const plan = this.setAside.consult(node, (ask) =>
      planNode(node, this.intent(judged), this.contested.asking(node, ask)),
    );
    if (plan) this.#grounds.set(plan, grounds);
    return plan;
  }

  /** A node as it is known now, with what that says of its services. */
  judged(name: string): JudgedNode | undefined {
    return this.#groundsOf(name)?.judged;
  }

  /** The same, and whether something has to be written to it. */
  outlook(name: string): { judged: JudgedNode; isPending: boolean } | undefined {
    const grounds = this.#groundsOf(name);
    if (!grounds) return undefined;
    const isPending = this.#options.mayDecide() && this.#planBy(grounds) !== undefined;
    return { judged: grounds.judged, isPending };
  }

  #groundsOf(name: string): Grounds | undefined {
    const node = this.fleet.node(name);
    const record = this.fleet.record(name);
    const snapshot = this.fleet.snapshot(name);
    if (!node || !record || !snapshot) return undefined;
    const now = this.#now();
    const readiness = this.#readiness.judge(record, snapshot, now);
    const schedulingHint = this.#hints.get(record);
    const takenLabels = this.#taken?.of(record);
    const ageMs = now.wallMs - snapshot.createdAtMs;
    const waitedMs = this.#gates.waitedMs(record, ageMs, now.monotonicMs);
    const holds = this.#options.holdsOn(name);
    return { record, node, judged: { ...snapshot, readiness, holds, ageMs, waitedMs, schedulingHint, takenLabels } };
  }

  /** The rules are others. Where none is left, that is not the change of one of them. */
  rulesChanged(labels: ReadonlyMap<string, string>): void {
    const before = this.#ruleLabels;
    const changed = [...before.keys()].filter((label) => before.get(label) !== labels.get(label));
    this.#ruleLabels = labels;
    if (labels.size > 0) this.#configured(changed.map(ruleOf));
  }

  /** NodeServices with these uids were changed or deleted. */
  servicesChanged(uids: readonly string[]): void {
    if (uids.length > 0) this.#configured(uids.map((uid) => `service:${uid}`));
  }

  /** What stays on nodes for now, although it should go. */
  heldWithdrawals(): HeldWithdrawals[] {
    return [...this.#observer.held(), ...this.#blastRadius.held()];
  }

  /** Has a node changed in a way that lets kube-scheduler try again there. */
  hint(name: string): void {
    const record = this.fleet.record(name);
    // With its milliseconds: two in one second differ.
    if (record) this.#hints.set(record, new Date(this.#options.clock.now()).toISOString());
    this.reconciler.add(name);
  }

  intent(node: JudgedNode): NodeIntent {
    const now = this.#now();
    return intentOf(this.#labelers, node, (entry) => guardRemoval(entry, node, { guard: this.#blastRadius, now }));
  }

  /** What a node says beside what is wanted of it, and what stands in the way. */
  witness(name: string): Witness | undefined {
    const grounds = this.#groundsOf(name);
    if (!grounds) return undefined;
    const { node, judged } = grounds;
    return {
      node,
      judged,
      intent: this.intent(judged),
      setAside: this.setAside.keysFor(name),
      contested: this.contested.keysFor(name),
      refusedWithdrawals: this.reconciler.refusedWithdrawals(name),
    };
  }

  /** The labels of a node, and those for which pods may be evicted from it now. */
  evictable(name: string): EvictableLabels | undefined {
    const node = this.fleet.node(name);
    const { services, rules } = this.#options;
    return node && evictableLabels(node, () => this.judged(name)?.readiness, { services, rules });
  }

  /** What would become of nodes if something else were configured. */
  whatIf(proposal: Proposal): WhatIf {
    return new WhatIf(this.#options, proposal, this.#options.clock.monotonic());
  }

  /** Everything about a node, for people. */
  explain(name: string): NodeFacts | undefined {
    const witness = this.witness(name);
    const record = this.fleet.record(name);
    if (!witness || !record) return undefined;
    return {
      ...witness,
      plan: this.plan(name),
      changes: this.changes.of(record),
      quietMs: this.fleet.freshness.quietMs(record, this.#options.clock.monotonic()),
    };
  }

  /** This replica begins to lead: what was heard and judged before is of another time. */
  beginTerm(): void {
    this.#observer = new ObserverGuard();
    this.#blastRadius = this.#newBlastRadius();
    this.#readiness = this.#newReadiness();
    this.#gates = new GateWaits(this.#options.startupGate.maxWaitMs);
    this.firstTaints = this.#newFirstTaints();
    this.#options.followUps.restart();
    this.fleet.beginTerm();
  }

  #newReadiness(): ReadinessTracker {
    const { announcer } = this.#options;
    const onHeldBack = (...news: Parameters<Announcing['heldBack']>) => announcer.heldBack(...news);
    return new ReadinessTracker({ ...this.#options, onHeldBack, observer: this.#observer });
  }

  #newBlastRadius(): BlastRadius {
    const has = ({ labels }: ObservedNode, label: string) => labels[label] !== undefined;
    const nodesWith = (label: string) => this.fleet.nodes().flatMap((node) => (has(node, label) ? node.name : []));
    return new BlastRadius(this.#options.massWithdrawalDelayMs, nodesWith);
  }

  #newFirstTaints(): FirstTaints {
    return new FirstTaints({ ...this.#options.firstTaints, nodes: () => this.fleet.nodes() });
  }

  /** How many services are held back, as they come and go. */
  get heldBackCount(): number {
    return this.#readiness.heldCount;
  }

  /** What time alone changes. Once a second. */
  tick(): void {
    this.fleet.tick();
    this.contested.tick();
    const { clock } = this.#options;
    for (const node of this.#readiness.released(clock.monotonic())) this.#look(node, false);
    this.#lookAtReleased();
    for (const node of this.#gates.due(clock.monotonic())) this.reconciler.add(node);
    this.statusNoted();
  }

  /** What no guard delays any more. */
  #lookAtReleased(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const node of [...this.#observer.tick(nowMs), ...this.#blastRadius.tick(nowMs)]) this.#look(node, false);
  }

  /** Nodes that wait for what the status of a NodeService says are looked at again. */
  statusNoted(): void {
    for (const node of this.firstTaints.takeWaiting()) this.reconciler.add(node);
  }

  #now(): { monotonicMs: number; wallMs: number } {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
  }

  #configured(objects: readonly string[]): void {
    const nowMs = this.#options.clock.monotonic();
    this.#blastRadius.changed(objects, nowMs);
    this.#cancelSettling();
    this.#whenSettled(nowMs + SETTLE_MS);
  }

  /** Whether a change was a single one is not known before. A timer may come early. */
  #whenSettled(settledMs: number): void {
    const { clock } = this.#options;
    const leftMs = settledMs - clock.monotonic();
    if (leftMs <= 0) this.#lookAtReleased();
    else this.#cancelSettling = clock.after(Math.ceil(leftMs), () => this.#whenSettled(settledMs));
  }

  /** What others than the fleet know of a node is other than it was. */
  changed(name: string): void {
    this.#look(name, true);
  }

  #look(name: string, urgent: boolean): void {
    // Judged at each news, and not only when the node's turn comes: of what comes and goes, nothing may be missed.
    if (this.#options.mayDecide()) this.#judge(name);
    this.reconciler.add(name, {
      priority: urgent ? 'urgent' : 'normal',
      dirtySinceMs: this.#options.clock.monotonic(),
    });
  }

  #judge(name: string): void {
    const grounds = this.#groundsOf(name);
    if (!grounds) return;
    const { record, node, judged } = grounds;
    this.#taken?.seen(record, node);
    this.#options.announcer.sees(record, node, judged);
    this.#gates.seen(record, node);
    this.tally.seen(name, judged.readiness);
    this.firstTaints.seen(this.#options.services(), judged);
    this.#options.followUps.look(name);
  }

  /** No write tells of it. */
  #leftOut(name: string, keys: readonly SetAsideKey[]): void {
    const node = this.fleet.node(name);
    const conditions = keys.filter(({ kind, cause }) => kind === 'condition' && cause === 'foreign');
    if (node && conditions.length > 0) this.#options.announcer.leftAlone(node, conditions);
    this.#options.followUps.look(name);
  }

  /** For those who know nodes by their names. */
  #forget(name: string): void {
    this.#options.followUps.forget(name);
    this.tally.forget(name);
    this.firstTaints.forget(name);
    this.reconciler.forget(name);
    this.#observer.forget(name);
    this.#blastRadius.forget(name);
  }

  /** Takes the answer to a write, and tells what it changed, and why. */
  #written(written: Node, plan: NodePlan): void {
    const { name } = written.metadata;
    const answer = this.fleet.observe(written);
    // Not what is known by now: the watch may have told of the write, or of something newer, before its answer came.
    const grounds = this.#grounds.get(plan);
    if (grounds) this.#keepTaken(grounds, answer, plan);
    this.fleet.written(answer);
    if (!grounds) return;
    const { record, node: before, judged } = grounds;
    const { taints = before.taints, conditions = before.conditions } = answer;
    const after = { ...answer, taints, conditions };
    const { clock, logger, announcer } = this.#options;
    const changes = changesBetween(before, after, this.intent(judged));
    this.changes.add(record, changes, clock.now());
    if (changes.length > 0) logger.info({ node: name, changes }, 'Changed a node');
    announcer.shows(record, after, judged);
    const opened = changes.find(({ kind, key, to }) => kind === 'taint' && key === STARTUP_TAINT && to === undefined);
    const { startupGate, services } = this.#options;
    if (opened) announcer.gateOpened(judged, missingAtGate(judged, startupGate.requires, services));
  }

  #keepTaken({ record, node, judged }: Grounds, answer: ObservedNode, { withdrawal, set }: NodePlan): void {
    const keys = withdrawal?.labels ?? [];
    if (this.#taken && keys.length > 0) {
      const intent = this.intent(judged);
      const causes = new Map(
        keys.flatMap((key) => {
          const cause = intent.get(entryKey({ kind: 'label', key }))?.cause;
          return cause ? [[key, cause]] : [];
        }),
      );
      this.#taken.took(record, { keys, causes, before: node, after: answer });
    }
    const note = set?.annotations[WITHDRAWN_LABELS_ANNOTATION];
    // The note that was made of them is there.
    const isNoted = note !== undefined && answer.annotations[WITHDRAWN_LABELS_ANNOTATION] === note;
    if (isNoted) this.#taken?.noted(record, judged.takenLabels ?? {});
  }
}
