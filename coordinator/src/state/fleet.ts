import { type Clock, momentOf } from '@rollcall/common/clock.ts';
import type { ActiveGuard } from '@rollcall/common/guards.ts';
import type { FullReport, Heartbeat, ReportReply, ServiceReport } from '@rollcall/common/report.ts';
import { isOlderVersion, type Node } from '../kube/objects.ts';
import { otherPoolsOf, poolOf } from '../model/pools.ts';
import type { ConditionCheck, Service } from '../model/services.ts';
import type { ReportIdentity, SessionResult } from './agent-sessions.ts';
import { agentSignsOf } from './agent-signs.ts';
import {
  Collection,
  type CollectionListener,
  EVERY_NODE,
  hasSameFields,
  type ObjectChange,
  placesOf,
} from './collection.ts';
import { withHistory } from './condition-history.ts';
import type { FreshnessOptions, FreshnessTracker } from './freshness.ts';
import { hearReport } from './hear-report.ts';
import { createIntern } from './intern.ts';
import { ListedOrigins } from './listed-origins.ts';
import { inventoryOf } from './machines.ts';
import type { NodeRecord } from './node-record.ts';
import { type NodeChange, NodeStore } from './node-store.ts';
import { NO_CONDITION_OWNERS } from './observed-conditions.ts';
import { type ObservedNode, observeNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import type { ObservedWorkspace } from './observed-workspace.ts';
import {
  createOnDemand,
  mapOnDemand,
  mayConcern,
  ON_DEMAND,
  type OnDemandRow,
  onDemandOn,
} from './on-demand-objects.ts';
import { PodCollection } from './pod-collection.ts';
import { countingSet, createPoolLabelSets, type ObservedPoolLabelSet, POOL_LABEL_KINDS } from './pool-label-sets.ts';
import { ProbeAssignments } from './probe-assignments.ts';
import { heartbeatSeconds, ReportPacing } from './report-pacing.ts';
import { faultOf } from './shared-faults.ts';
import type { NodeSnapshot } from './snapshot.ts';
import { Term } from './term.ts';

export type FleetOptions = Pick<FreshnessOptions, 'agents' | 'windowMs' | 'guardPercent'> & {
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
  readonly servicePods = new PodCollection<ObservedPod>();
  readonly agentPods = new Collection<ObservedPod>({ at: ({ node }) => node, isSame: hasSameFields });
  readonly workspaces = new Collection<ObservedWorkspace>({ at: ({ node }) => node, lostIsUnknown: true });
  readonly poolLabelSets = createPoolLabelSets();
  readonly onDemand = createOnDemand();
  readonly #pacing = new ReportPacing();
  readonly #assignments = new ProbeAssignments();
  readonly listedOrigins = new ListedOrigins();
  /** When Nodes came that the first list did not have, by the monotonic clock. */
  readonly #cameMs = new Map<string, number>();
  #hasNodes = false;
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
    const byNode = ({ node }: { node: string }) => node;
    this.servicePods.onChange(
      this.#marking((changes) => {
        for (const node of placesOf(changes, byNode)) this.#podChanged(node);
        for (const { previous, next } of changes) {
          // A pod that is Ready when it is first heard of was Ready before.
          const changed = previous ?? (next?.ready ? undefined : next);
          if (changed) this.#pacing.changed(changed.node, options.clock.monotonic());
        }
      }),
    );
    this.workspaces.onChange(
      this.#marking((changes) => {
        for (const node of placesOf(changes, byNode)) this.#changed(node, true);
      }),
    );
    mapOnDemand((name) => {
      const { isForGate }: OnDemandRow = ON_DEMAND[name];
      const mark = (node: string, isUrgent: boolean) =>
        mayConcern(name, this.#nodes.get(node)) && this.#changed(node, isUrgent);
      const markAll = () => this.#nodes.names().forEach((node) => void mark(node, false));
      const changed = (changes: readonly ObjectChange<{ node: string }>[]) => {
        const nodes = placesOf(changes, byNode);
        if (nodes.has(EVERY_NODE)) markAll();
        else for (const node of nodes) mark(node, !isForGate);
      };
      this.onDemand[name].onChange(this.#marking(changed, markAll));
    });
    this.poolLabelSets.onChange(this.#marking((changes) => this.#markPools(placesOf(changes, ({ pool }) => pool))));
    const agentPodsChanged = (changes: readonly ObjectChange<ObservedPod>[]) => {
      for (const { previous, next } of changes) {
        if (previous && previous.uid !== next?.uid) this.#agentPodGone(previous.uid, previous.node);
        if (next) this.#expectAgent(next.node);
      }
    };
    this.agentPods.onChange({ changed: agentPodsChanged, listed: agentPodsChanged });
  }

  /** Marks all nodes as well when something becomes known, or no longer is. */
  #marking<T>(changed: CollectionListener<T>['changed'], markAll = () => this.markAll()): CollectionListener<T> {
    return {
      changed,
      listed: (changes, isNews) => {
        if (changes.length > 0) changed(changes);
        if (isNews) markAll();
      },
    };
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
    const pod = this.agentPods.get({ namespace, name });
    return pod?.uid === uid ? pod.node : undefined;
  }

  /** What this term knows and remembers of a node. */
  record(name: string): NodeRecord | undefined {
    return this.#term.record(name);
  }

  /** Takes a report of an authenticated agent. The Node is known: ingest has compared its uid. */
  accept(report: FullReport | Heartbeat, identity: ReportIdentity): { result: SessionResult; reply: ReportReply } {
    const { node } = report;
    const nowMs = this.#options.clock.monotonic();
    const record = this.#term.record(node);
    const result = record?.uid === identity.nodeUid ? this.#hear(record, report, identity) : 'ignored';
    if (!record || result === 'ignored' || result === 'superseded') {
      return { result, reply: { nextReportSeconds: this.#nextReportSeconds(node, false), newSession: true } };
    }
    const { assigned, isUnsettled } = this.#assignmentOf(record);
    record.sessions.noteSent(report.boot, identity.pod?.uid, assigned.services, nowMs);
    const reply: ReportReply = {
      nextReportSeconds: this.#nextReportSeconds(node, isUnsettled),
      ...(report.servicesDigest === assigned.servicesDigest ? {} : assigned),
    };
    if (result === 'unknown-digest') reply.full = true;
    const questions = this.#options.questions?.() ?? [];
    if (questions.length > 0) reply.questions = [...questions];
    return { result, reply };
  }

  #hear(record: NodeRecord, report: FullReport | Heartbeat, identity: ReportIdentity): SessionResult {
    const { name } = record;
    const podUid = identity.pod?.uid;
    const pod = podUid === undefined ? undefined : this.agentPods.on(name).find(({ uid }) => uid === podUid);
    const nowMs = this.#options.clock.monotonic();
    const heard = { record, report, identity, podCreatedMs: pod?.createdAtMs, nowMs };
    const { result, isChanged, isUrgent } = hearReport(this.#term, heard);
    if (isChanged) this.#changed(name, isUrgent);
    return result;
  }

  #assignmentOf(record: NodeRecord): ReturnType<ProbeAssignments['of']> {
    const [node, pods] = [this.#nodes.get(record.name), this.servicePods.on(record.name)];
    return this.#assignments.of(record, { services: this.#options.services(), node, pods });
  }

  #nextReportSeconds(node: string, unsettled: boolean): number {
    const { windowMs, clock } = this.#options;
    const seconds = heartbeatSeconds(this.#nodes.size, windowMs / 1000);
    return Math.min(seconds, this.#pacing.nextSeconds(node, unsettled, clock.monotonic()) ?? seconds);
  }

  snapshot(name: string): NodeSnapshot | undefined {
    const node = this.#nodes.get(name);
    const record = this.#term.record(name);
    if (!node || !record) return undefined;
    const { sessions } = record;
    const { assigned, reports } = this.#assignmentOf(record);
    const onDemand = onDemandOn(this.onDemand, name);
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
      podsKnown: (namespace) => this.servicePods.isKnown(namespace),
      servicesKnown: this.#options.servicesKnown(),
      assignedMs: sessions.sentSince(assigned.services),
      poolLabelSet: this.poolLabelSetOf(name),
      otherPools: record.otherPools,
      otherPoolLabelSets: this.otherPoolLabelSetsOf(name),
      poolLabelSetsKnown: POOL_LABEL_KINDS.every((kind) => this.poolLabelSets.isKnown(kind)),
      workspaces: this.workspaces.isKnown() ? this.workspaces.on(name) : undefined,
    };
  }

  /** The NodePoolLabels or NodePoolLabelSet that a node is labelled by. */
  poolLabelSetOf(name: string): ObservedPoolLabelSet | undefined {
    return this.#setOf(this.#poolOf(name));
  }

  /** Objects with labels of other pools that labels of a node name. */
  otherPoolLabelSetsOf(name: string): readonly ObservedPoolLabelSet[] {
    return this.#term.record(name)?.otherPools.flatMap((pool) => this.#setOf(pool) ?? []) ?? [];
  }

  #setOf(pool: string | undefined): ObservedPoolLabelSet | undefined {
    return pool === undefined ? undefined : countingSet(this.poolLabelSets.on(pool));
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
      const isKnown = node?.conditions && (!reporter || this.servicePods.isKnown(reporter.namespace));
      return isKnown ? { ...node, pods: this.servicePods.on(name) } : undefined;
    };
    const reports = (record: NodeRecord) => {
      const { state } = this.freshness.of(record);
      const isHeard = state === 'fresh' || state === 'leaving';
      return isHeard ? this.#assignmentOf(record).reports : NO_REPORTS;
    };
    return new Term({ agents, windowMs, guardPercent, services, sight, reports, onChange }, clock.monotonic());
  }

  #beginRecord(name: string, wasThere: boolean): void {
    const node = this.#nodes.get(name);
    if (!node) return;
    const agentPods = this.agentPods.on(name);
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
    const isExpected = before !== undefined || this.agentPods.on(node).length > 0;
    if (sessions.podGone(podUid, now)) this.freshness.goodbye(record, now, isExpected);
    // Another may count now, and have seen another machine.
    if (sessions.content) this.#term.machines.take(record, sessions.content, now);
    this.#changed(node, sessions.content !== before);
  }
}
