import { type Clock, momentOf } from '@rollcall/common/clock.ts';
import type { ActiveGuard } from '@rollcall/common/guards.ts';
import { isDisturbed } from '@rollcall/common/node-lifecycle.ts';
import type { FullReport, Heartbeat, ReportReply, ServiceReport } from '@rollcall/common/report.ts';
import { isOlderVersion, type Node } from '../kube/objects.ts';
import { otherPoolsOf, poolOf } from '../model/pools.ts';
import type { ConditionCheck, Service } from '../model/services.ts';
import type { ReportIdentity, SessionResult } from './agent-sessions.ts';
import { agentSignsOf } from './agent-signs.ts';
import { withHistory } from './condition-history.ts';
import { CsiNodes } from './csi-nodes.ts';
import type { FreshnessOptions, FreshnessTracker } from './freshness.ts';
import { createIntern } from './intern.ts';
import { ListedOrigins } from './listed-origins.ts';
import { inventoryOf } from './machines.ts';
import { type Collection, eventHandlersOf, NodeIndexer } from './node-indexer.ts';
import type { NodeRecord } from './node-record.ts';
import { type NodeChange, NodeStore } from './node-store.ts';
import { lifecycleOf, NO_CONDITION_OWNERS } from './observed-conditions.ts';
import { type ObservedNode, observeNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import type { ObservedWorkspace } from './observed-workspace.ts';
import { mayConcern, OnDemand } from './on-demand-objects.ts';
import type { PodsByNamespace } from './pods-by-namespace.ts';
import { type ObservedPoolLabelSet, POOL_LABEL_KINDS, type PoolLabelKind, PoolLabelSets } from './pool-label-sets.ts';
import type { Freshness } from './presence.ts';
import { ProbeAssignments } from './probe-assignments.ts';
import { heartbeatSeconds, ReportPacing } from './report-pacing.ts';
import { faultOf } from './shared-faults.ts';
import type { NodeSnapshot } from './snapshot.ts';
import { Term } from './term.ts';

export type FleetOptions = Pick<FreshnessOptions, 'agents' | 'windowMs' | 'guardPercent'> & {
  /** The pods of services, by node. */
  servicePods: PodsByNamespace<ObservedPod>;
  clock: Clock;
  /** The services that are in force now. */
  services: () => readonly Service[];
  /** Whether all of them are known. */
  servicesKnown: () => boolean;
  /** What agents are to answer, by what the rules ask. */
  questions?: () => readonly string[];
  /** Of the features that Nodes declare, those to keep, by what the rules ask. */
  declaredFeatures?: () => readonly string[];
  poolLabels: readonly string[];
  /** Annotations of Nodes to keep beside those that rollcall applied. */
  annotationsOfInterest: ReadonlySet<string>;
  /** Keeps the others as well. */
  allAnnotations: boolean;
};

/** Who hears of changes. There is one. */
export type FleetListener = {
  /** What is known of a node may have changed. `urgent`: a label may have to go. */
  changed: (node: string, urgent: boolean) => void;
  /** Only the resource version of the Node changed. */
  versionChanged: (node: string) => void;
  /** The Node is gone. A Node that comes later under the same name is another one. */
  gone: (node: string) => void;
  /** Other labels may be wanted for nodes of these pools. */
  poolsChanged: (pools: ReadonlySet<string>) => void;
};

const NO_LISTENER: FleetListener = {
  changed: () => {},
  versionChanged: () => {},
  gone: () => {},
  poolsChanged: () => {},
};

/** Collections without which other things go on. */
type Learned = 'workspaces' | PoolLabelKind;

const NO_KEYS: ReadonlySet<string> = new Set();
const NO_REPORTS: ReadonlyMap<string, ServiceReport> = new Map();

/**
 * Everything known about the nodes, in memory, and nowhere else. What watches tell outlives a term of leadership; what
 * is heard from agents is the term's.
 */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #intern = createIntern<string>();
  readonly #nodes: NodeStore;
  readonly servicePods: PodsByNamespace<ObservedPod>;
  readonly csiNodes: CsiNodes;
  readonly onDemand: OnDemand;
  readonly #pacing = new ReportPacing();
  readonly #assignments = new ProbeAssignments();
  readonly #agentPods: NodeIndexer<ObservedPod>;
  readonly #workspaces: NodeIndexer<ObservedWorkspace>;
  readonly poolLabelSets: PoolLabelSets;
  readonly listedOrigins = new ListedOrigins();
  /** When Nodes came that the first list did not have, by the monotonic clock. */
  readonly #cameMs = new Map<string, number>();
  #hasNodes = false;
  /** Those that were listed, and whose watch was not lost since. */
  readonly #known = new Set<Learned>();
  #term: Term;
  #listener: FleetListener = NO_LISTENER;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#term = this.#newTerm();
    this.#nodes = new NodeStore(
      (change) => this.#nodeChanged(change),
      (node) => this.#listener.versionChanged(node),
      (previous, next) => withHistory(previous, next, momentOf(options.clock)),
    );
    this.servicePods = options.servicePods;
    this.servicePods.onChange({
      changed: (previous, next) => {
        for (const pod of [previous, next]) if (pod) this.#podChanged(pod.node);
        // A pod that is Ready when it is first heard of was Ready before.
        const changed = previous ?? (next?.ready ? undefined : next);
        if (changed) this.#pacing.changed(changed.node, options.clock.monotonic());
      },
      listed: () => this.markAll(),
    });
    this.csiNodes = new CsiNodes(
      (node) => this.#changed(node, true),
      () => this.markAll(),
    );
    this.onDemand = new OnDemand(
      (node, name) => mayConcern(name, this.#nodes.get(node)) && this.#changed(node, false),
      (name) => {
        for (const node of this.nodes()) if (mayConcern(name, node)) this.#changed(node.name, false);
      },
    );
    this.#workspaces = new NodeIndexer<ObservedWorkspace>((previous, next) => {
      for (const workspace of [previous, next]) if (workspace) this.#changed(workspace.node, true);
    });
    this.poolLabelSets = new PoolLabelSets((pools) => this.#markPools(pools));
    this.#agentPods = new NodeIndexer<ObservedPod>((previous, next) => {
      if (previous && previous.uid !== next?.uid) this.#agentPodGone(previous.uid, previous.node);
      if (next) this.#expectAgent(next.node);
    });
  }

  /** From now on this listener hears of every change. */
  onChange(listener: FleetListener): void {
    this.#listener = listener;
  }

  #podChanged(node: string): void {
    const record = this.#term.record(node);
    if (record) this.#term.reporters.see(record, momentOf(this.#options.clock));
    this.#changed(node, true);
  }

  #changed(node: string, urgent: boolean): void {
    this.#listener.changed(node, urgent);
  }

  /** The term that goes on; before the first, one in which nothing is heard. */
  get term(): Term {
    return this.#term;
  }

  get freshness(): FreshnessTracker {
    return this.#term.freshness;
  }

  /** What a watch of Nodes is to be handed to. */
  get nodeHandlers(): {
    onListing(): void;
    onReplace(nodes: ObservedNode[]): void;
    onUpsert(node: ObservedNode): void;
    onDelete(node: ObservedNode): void;
  } {
    return {
      onListing: () => this.#nodes.listing(),
      onReplace: (nodes) => {
        this.#nodes.replace(nodes);
        this.#hasNodes = true;
      },
      onUpsert: (node) => this.#nodes.upsert(node),
      onDelete: ({ name }) => this.#nodes.remove(name),
    };
  }

  get csiNodeHandlers() {
    return eventHandlersOf(this.csiNodes);
  }
  get agentPodHandlers() {
    return eventHandlersOf(this.#agentPods);
  }

  get workspaceHandlers() {
    return this.#learning('workspaces', this.#workspaces);
  }

  poolLabelHandlers(kind: PoolLabelKind) {
    return this.#learning(kind, this.poolLabelSets.ofKind(kind));
  }

  /** Trims a Node as it is parsed, before it is kept. */
  observe(node: Node): ObservedNode {
    const { annotationsOfInterest, allAnnotations, declaredFeatures } = this.#options;
    return observeNode(node, this.#intern, annotationsOfInterest, allAnnotations, declaredFeatures?.());
  }

  /** The answer of the API server to a write. */
  written(node: ObservedNode): void {
    this.#nodes.written(node);
  }

  /**
   * Takes in a whole Node that was read, with its taints and conditions, which a watch of metadata does not tell. Returns
   * `false` for a read that is not taken in: the Node changed since, or is not known.
   */
  noteStrays(whole: Node): boolean {
    const { metadata } = whole;
    const node = this.#nodes.get(metadata.name);
    if (node?.uid !== metadata.uid || isOlderVersion(metadata.resourceVersion, node.resourceVersion)) return false;
    this.#nodes.written(this.observe(whole));
    return true;
  }

  node(name: string): ObservedNode | undefined {
    return this.#nodes.get(name);
  }

  nodeNames(): string[] {
    return this.#nodes.names();
  }

  nodes(): ObservedNode[] {
    return this.#nodes.all();
  }

  /** The node of an agent's pod as watched, whether it is ending or not. */
  agentPodNode({ namespace, name, uid }: Pick<ObservedPod, 'namespace' | 'name' | 'uid'>): string | undefined {
    const pod = this.#agentPods.get({ namespace, name });
    return pod?.uid === uid ? pod.node : undefined;
  }

  /** How many pods of agents there are. */
  get agentPodCount(): number {
    return this.#agentPods.size;
  }

  /** What this term knows and remembers of a node. */
  record(name: string): NodeRecord | undefined {
    return this.#term.record(name);
  }

  /** Takes a report of an authenticated agent. The Node is known: ingest has compared its uid. */
  accept(report: FullReport | Heartbeat, identity: ReportIdentity): { admission: SessionResult; reply: ReportReply } {
    const { node } = report;
    const record = this.#term.record(node);
    const admission = record?.uid === identity.nodeUid ? this.#hear(record, report, identity) : 'ignored';
    if (!record || admission === 'ignored' || admission === 'superseded') {
      return { admission, reply: { nextReportSeconds: this.#nextReportSeconds(node, false), newSession: true } };
    }
    const { told, isUnsettled } = this.#assignments.of(record, this.#groundsOf(record));
    record.sessions.tell(report.boot, identity.pod?.uid, told.services, this.#options.clock.monotonic());
    const reply: ReportReply = {
      nextReportSeconds: this.#nextReportSeconds(node, isUnsettled),
      ...(report.servicesDigest === told.servicesDigest ? {} : told),
    };
    if (admission === 'unknown-digest') reply.full = true;
    const questions = this.#options.questions?.() ?? [];
    if (questions.length > 0) reply.questions = [...questions];
    return { admission, reply };
  }

  #groundsOf({ name }: NodeRecord) {
    return { services: this.#options.services(), node: this.#nodes.get(name), pods: this.servicePods.on(name) };
  }

  #nextReportSeconds(node: string, unsettled: boolean): number {
    const { windowMs, clock } = this.#options;
    const seconds = heartbeatSeconds(this.#nodes.size, windowMs / 1000);
    return Math.min(seconds, this.#pacing.nextSeconds(node, unsettled, clock.monotonic()) ?? seconds);
  }

  #hear(record: NodeRecord, report: FullReport | Heartbeat, identity: ReportIdentity): SessionResult {
    const { freshness, machines } = this.#term;
    const { name, sessions } = record;
    const now = this.#options.clock.monotonic();
    const { state } = freshness.of(record);
    const before = sessions.content?.services;
    const podCreatedMs =
      identity.pod && this.#agentPods.on(name).find(({ uid }) => uid === identity.pod?.uid)?.createdAtMs;
    const admission = sessions.admit(report, { ...identity, podCreatedMs }, now);
    if (admission === 'ignored' || admission === 'superseded') return admission;
    // An agent whose content is not here is alive, but vouches for nothing until it has sent it.
    if (admission === 'unknown-digest') freshness.expect(record, now);
    else if (admission === 'leaving' ? sessions.speaker === report.boot : sessions.content && !report.leaving)
      freshness.heard(record, now);
    if (admission === 'leaving') freshness.goodbye(record, now, true);
    const isOtherMachine = sessions.content !== undefined && machines.take(record, sessions.content, now);
    const isUrgent = sessions.content?.services !== before || state !== 'fresh' || admission === 'leaving';
    if (isUrgent || isOtherMachine) this.#changed(name, isUrgent);
    return admission;
  }

  snapshot(name: string): NodeSnapshot | undefined {
    const node = this.#nodes.get(name);
    const record = this.#term.record(name);
    if (!node || !record) return undefined;
    const { sessions } = record;
    const { told, reports } = this.#assignments.of(record, this.#groundsOf(record));
    const onDemand = this.onDemand.on(name);
    return {
      name,
      uid: node.uid,
      createdAtMs: node.createdAtMs,
      labels: node.labels,
      annotations: node.annotations,
      taints: node.taints,
      ownedAnnotations: node.owned.annotations,
      ownedLabels: node.ownerless?.size ? node.owned.labels.union(node.ownerless) : node.owned.labels,
      sharedLabels: node.shared ?? NO_KEYS,
      ownedConditions: node.conditionOwners?.ours ?? NO_KEYS,
      allocatable: node.allocatable,
      conditions: node.conditions,
      conditionWriters: (node.conditionOwners ?? NO_CONDITION_OWNERS).rivals,
      doubt: (check) => this.#term.reporters.of(check, record),
      fault: (check, { since }) => faultOf(this.#term.targets, check, { record, since }),
      silenceMs: this.#options.windowMs,
      machine: record.machine?.machine,
      onDemand,
      inventory: inventoryOf({ shown: record.machine, node, ...onDemand }, this.#options.clock.monotonic()),
      pool: this.#poolOf(name),
      freshness: this.freshness.of(record),
      heardMs: record.presence.heardMs,
      services: reports,
      agentVersion: sessions.content && (sessions.content.version ?? ''),
      agentBornMs: sessions.speakerBornMs,
      pods: this.servicePods.on(name),
      podsKnown: (namespace) => this.servicePods.knows(namespace),
      csiNode: this.csiNodes.known ? (this.csiNodes.of(name) ?? 'none') : 'unknown',
      servicesKnown: this.#options.servicesKnown(),
      toldMs: sessions.toldSince(told.services),
      poolLabelSet: this.poolLabelSetOf(name),
      otherPools: record.otherPools,
      otherPoolLabelSets: this.otherPoolLabelSetsOf(name),
      poolLabelSetsKnown: POOL_LABEL_KINDS.every((kind) => this.#known.has(kind)),
      workspaces: this.#known.has('workspaces') ? this.#workspaces.on(name) : undefined,
    };
  }

  /** The NodePoolLabels or NodePoolLabelSet that a node is labelled by. */
  poolLabelSetOf(name: string): ObservedPoolLabelSet | undefined {
    return this.poolLabelSets.of(this.#poolOf(name));
  }

  /** Objects with labels of other pools that labels of a node name. */
  otherPoolLabelSetsOf(name: string): readonly ObservedPoolLabelSet[] {
    return this.#term.record(name)?.otherPools.flatMap((pool) => this.poolLabelSets.of(pool) ?? []) ?? [];
  }

  /** A node that is drained, shut down or in maintenance is no reason for an alert: if no agent is heard, it counts apart. */
  countByFreshness(): Partial<Record<Freshness['state'] | 'maintenance', number>> {
    const count: Record<string, number> = { fresh: 0, leaving: 0, unheard: 0, silent: 0, absent: 0, maintenance: 0 };
    for (const record of this.#term.records()) {
      const { state } = this.freshness.of(record);
      const node = state === 'silent' || state === 'absent' ? this.node(record.name) : undefined;
      const counted = node && isDisturbed(lifecycleOf(node)) ? 'maintenance' : state;
      count[counted] = (count[counted] ?? 0) + 1;
    }
    return 'none' in count ? { none: count['none'] } : count;
  }

  /** This replica begins to lead: what was heard before is of another time. */
  beginTerm(): void {
    this.#term.over();
    this.#term = this.#newTerm();
    for (const name of this.#nodes.names()) this.#beginRecord(name, true);
    this.markAll();
  }

  /** This replica had lost the API server for a while: what was seen is old, and agents may not have reached it. */
  recovered(): void {
    const now = this.#options.clock.monotonic();
    for (const each of [this.freshness, this.#term.reporters, this.#term.targets]) each.renewAll(now);
    this.markAll();
  }

  tick(): void {
    const now = momentOf(this.#options.clock);
    this.freshness.tick(now.monotonicMs);
    for (const each of [this.#term.reporters, this.#term.targets]) each.tick(now);
    for (const node of this.#term.machines.tick(now.monotonicMs)) this.#changed(node, false);
  }

  /** The guards that act now by what was heard. */
  guards(): ActiveGuard[] {
    return [this.freshness, this.#term.reporters, this.#term.targets].flatMap((each) => each.held());
  }

  /** Every node is to be looked at. */
  markAll(): void {
    for (const name of this.#nodes.names()) this.#changed(name, false);
  }

  /** Every node is looked at when a collection becomes known. */
  #learning<T>(what: Learned, collection: Collection<T>) {
    return {
      ...eventHandlersOf(collection),
      onReplace: (all: T[]) => {
        const isFirst = !this.#known.has(what);
        this.#known.add(what);
        collection.replace(all);
        if (isFirst) this.markAll();
      },
      onLost: () => this.#known.delete(what),
    };
  }

  #markPools(pools: ReadonlySet<string>): void {
    this.#listener.poolsChanged(pools);
    // By the pool that is noted already: to find it in the labels of all nodes is most of the work for a small pool.
    for (const { name, presence, otherPools } of this.#term.records()) {
      const isConcerned = presence.pool !== undefined && [presence.pool, ...otherPools].some((pool) => pools.has(pool));
      if (isConcerned) this.#changed(name, false);
    }
  }

  #noteOtherPools(name: string): void {
    const record = this.#term.record(name);
    if (record) record.otherPools = otherPoolsOf(this.#nodes.get(name)?.labels ?? {}, this.#options.poolLabels);
  }

  #poolOf(name: string): string | undefined {
    return poolOf(this.#nodes.get(name)?.labels ?? {}, this.#options.poolLabels);
  }

  #nodeChanged({ name, previous, next }: NodeChange): void {
    this.listedOrigins.changed(previous, next);
    const isOther = previous?.uid !== next?.uid;
    if (previous && isOther) {
      this.#term.end(name);
      this.#pacing.forget(name);
      this.#cameMs.delete(name);
      this.#listener.gone(name);
    }
    if (!next) return;
    if (isOther && this.#hasNodes) this.#cameMs.set(name, this.#options.clock.monotonic());
    const record = this.#term.record(name);
    if (isOther || !record) this.#beginRecord(name, false);
    else record.presence.pool = this.#poolOf(name);
    this.#noteOtherPools(name);
    this.#changed(name, false);
  }

  #newTerm(): Term {
    const { agents = true, windowMs, guardPercent, services, clock } = this.#options;
    const onChange = (node: string) => this.#changed(node, true);
    const sight = (name: string, { settings: { reporter } }: ConditionCheck) => {
      const node = this.#nodes.get(name);
      const isKnown = node?.conditions && (!reporter || this.servicePods.knows(reporter.namespace));
      return isKnown ? { ...node, pods: this.servicePods.on(name) } : undefined;
    };
    const reports = (record: NodeRecord) => {
      const { state } = this.freshness.of(record);
      const isHeard = state === 'fresh' || state === 'leaving';
      return isHeard ? this.#assignments.of(record, this.#groundsOf(record)).reports : NO_REPORTS;
    };
    return new Term({ agents, windowMs, guardPercent, services, sight, reports, onChange }, clock.monotonic());
  }

  #beginRecord(name: string, wasThere: boolean): void {
    const node = this.#nodes.get(name);
    if (!node) return;
    const agentPods = this.#agentPods.on(name);
    const sources = { node, agentPods, services: this.#options.services(), wasThere };
    const signs = agentSignsOf(sources, this.#options.clock.now());
    const known = { name, uid: node.uid, pool: this.#poolOf(name), cameMs: this.#cameMs.get(name), isNew: !wasThere };
    this.#term.begin(known, signs, this.#options.clock.monotonic());
    this.#noteOtherPools(name);
  }

  #expectAgent(node: string): void {
    const record = this.#term.record(node);
    if (!record) return;
    this.freshness.expect(record, this.#options.clock.monotonic());
    this.#changed(node, false);
  }

  #agentPodGone(podUid: string, node: string): void {
    const record = this.#term.record(node);
    if (!record) return;
    const now = this.#options.clock.monotonic();
    const { sessions } = record;
    const before = sessions.content;
    // A node that reported stays expected: that its agent's pod is gone does not make it less silent.
    const isExpected = before !== undefined || this.#agentPods.on(node).length > 0;
    if (sessions.podGone(podUid, now)) this.freshness.goodbye(record, now, isExpected);
    // Another may count now, and have seen another machine.
    if (sessions.content) this.#term.machines.take(record, sessions.content, now);
    this.#changed(node, sessions.content !== before);
  }
}
