import type { Clock } from '@rollcall/common/clock.ts';
import type { FullReport, Heartbeat, ReportReply, ServiceReport } from '@rollcall/common/report.ts';
import type { Node } from '../kube/objects.ts';
import { isOlderVersion } from '../kube/resource-version.ts';
import { poolOf } from '../pools.ts';
import type { Service } from '../services.ts';
import { type Freshness, FreshnessTracker } from './freshness.ts';
import { heartbeatSeconds } from './heartbeat.ts';
import { Machines } from './machines.ts';
import { NodeIndex } from './node-index.ts';
import { type NodeChange, NodeStore } from './node-store.ts';
import { createIntern, type ObservedNode, observeNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import type { ObservedWorkspace } from './observed-workspace.ts';
import { type ObservedPoolLabelSet, PoolLabelSets } from './pool-label-sets.ts';
import { probeTargets } from './probe-targets.ts';
import { type Admission, type ReportIdentity, ReportLedger } from './report-ledger.ts';
import type { NodeSnapshot } from './snapshot.ts';

export type FleetOptions = {
  clock: Clock;
  services: readonly Service[];
  poolLabels: readonly string[];
  /** After how long without a report a node is silent. */
  windowMs: number;
  guardPercent: number;
  /** Annotations of Nodes to keep beside those that rollcall applied. */
  annotationsOfInterest: ReadonlySet<string>;
  /** Keeps the others as well. */
  allAnnotations: boolean;
  /** The snapshot of this node may differ from now on. `urgent`: a label may have to go. */
  onDirty: (node: string, urgent: boolean) => void;
  /** The Node is gone; one of the same name that comes later is another. */
  onNodeGone: (node: string) => void;
  /** An agent's pod is gone: whoever holds its token is no longer vouched for. */
  onAgentPodGone: (podUid: string) => void;
};

const NO_KEYS: ReadonlySet<string> = new Set();

/** Everything known about the nodes, in memory, and nowhere else. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #intern = createIntern();
  readonly #nodes: NodeStore;
  readonly #ledger = new ReportLedger();
  readonly #machines = new Machines();
  readonly #componentPods: NodeIndex<ObservedPod>;
  readonly #agentPods: NodeIndex<ObservedPod>;
  readonly #workspaces: NodeIndex<ObservedWorkspace>;
  readonly poolLabelSets: PoolLabelSets;
  /** Of those that things go on without, what was listed. */
  readonly #known = new Set<'workspaces' | 'poolLabelSets'>();
  readonly freshness: FreshnessTracker;

  constructor(options: FleetOptions) {
    this.#options = options;
    const { windowMs, guardPercent } = options;
    this.freshness = new FreshnessTracker({
      windowMs,
      guardPercent,
      onChange: (node) => options.onDirty(node, true),
      onSettled: () => this.markAll(),
    });
    this.#nodes = new NodeStore((change) => this.#nodeChanged(change));
    this.#componentPods = new NodeIndex<ObservedPod>((previous, next) => {
      for (const pod of [previous, next]) if (pod) options.onDirty(pod.node, true);
    });
    this.#workspaces = new NodeIndex<ObservedWorkspace>((previous, next) => {
      for (const workspace of [previous, next]) if (workspace) options.onDirty(workspace.node, true);
    });
    this.poolLabelSets = new PoolLabelSets((pools) => this.#markPools(pools));
    this.#agentPods = new NodeIndex<ObservedPod>((previous, next) => {
      if (previous && previous.uid !== next?.uid) this.#agentPodGone(previous.uid, previous.node);
      if (next) this.#expectAgent(next.node);
    });
  }

  /** What a watch of Nodes is to be handed to. */
  get nodeHandlers(): {
    onReplace(nodes: ObservedNode[]): void;
    onUpsert(node: ObservedNode): void;
    onDelete(node: ObservedNode): void;
  } {
    return {
      onReplace: (nodes) => this.#nodes.replace(nodes),
      onUpsert: (node) => this.#nodes.upsert(node),
      onDelete: ({ name }) => this.#nodes.remove(name),
    };
  }

  get componentPodHandlers() {
    return handlersOf(this.#componentPods);
  }

  get agentPodHandlers() {
    return handlersOf(this.#agentPods);
  }

  get workspaceHandlers() {
    return { ...this.#learning('workspaces', this.#workspaces), onLost: () => this.#known.delete('workspaces') };
  }

  get poolLabelSetHandlers() {
    const handlers = this.#learning('poolLabelSets', this.poolLabelSets);
    return { ...handlers, onLost: () => this.#known.delete('poolLabelSets') };
  }

  /** Trims a Node as it is parsed, before it is kept. */
  observe(node: Node): ObservedNode {
    const { annotationsOfInterest, allAnnotations } = this.#options;
    return observeNode(node, this.#intern, annotationsOfInterest, allAnnotations);
  }

  /** The answer of the API server to a write. */
  written(node: ObservedNode): void {
    this.#nodes.written(node);
  }

  /** What a look at the whole Node told about its taints, where the watch does not tell. */
  noteTaints({ metadata, spec }: Node): void {
    const node = this.#nodes.get(metadata.name);
    if (node?.uid !== metadata.uid || isOlderVersion(metadata.resourceVersion, node.resourceVersion)) return;
    this.#nodes.written({ ...node, taints: spec?.taints ?? [] });
  }

  node(name: string): ObservedNode | undefined {
    return this.#nodes.get(name);
  }

  nodeNames(): string[] {
    return this.#nodes.names();
  }

  /** The node of an agent's pod, for tokens that do not name it. */
  agentPodNode(name: string, uid: string): string | undefined {
    for (const pod of this.#agentPods.all()) if (pod.uid === uid && pod.name === name) return pod.node;
    return undefined;
  }

  /** Takes a report of an authenticated agent. The Node is known: ingest has compared its uid. */
  accept(report: FullReport | Heartbeat, identity: ReportIdentity): { admission: Admission; reply: ReportReply } {
    const { node } = report;
    const { state } = this.freshness.of(node);
    const before = this.#ledger.content(node)?.services;
    const admission = this.#ledger.admit(report, identity, state === 'silent' || state === 'unheard');
    const isOther = this.#ledger.content(node)?.services !== before;
    if (admission !== 'ignored') this.#heard(node, admission, isOther || state !== 'fresh');
    const windowSeconds = this.#options.windowMs / 1000;
    const reply: ReportReply = {
      nextReportSeconds: heartbeatSeconds(this.#nodes.size, windowSeconds),
      targets: probeTargets(this.#options.services, this.#componentPods.on(node)),
    };
    if (admission === 'unknown-digest') reply.full = true;
    return { admission, reply };
  }

  /** `isUrgent`: it is other than it was, as far as services go. */
  #heard(node: string, admission: Admission, isUrgent: boolean): void {
    const pool = this.#poolOf(node);
    const now = this.#options.clock.monotonic();
    // An agent whose content is not here is alive, but vouches for nothing until it has sent it.
    if (admission === 'unknown-digest') this.freshness.expect(node, pool, now);
    else this.freshness.heard(node, pool, now, admission === 'leaving');
    const content = this.#ledger.content(node);
    const isOtherMachine = content !== undefined && this.#machines.take(node, content, now);
    if (isUrgent || admission === 'leaving') this.#options.onDirty(node, true);
    else if (isOtherMachine) this.#options.onDirty(node, false);
  }

  snapshot(name: string): NodeSnapshot | undefined {
    const node = this.#nodes.get(name);
    if (!node) return undefined;
    const content = this.#ledger.content(name);
    const services = new Map<string, ServiceReport>();
    for (const service of content?.services ?? []) services.set(service.name, service);
    return {
      name,
      uid: node.uid,
      createdAtMs: node.createdAtMs,
      labels: node.labels,
      annotations: node.annotations,
      taints: node.taints,
      ownedAnnotations: node.owned.annotations,
      ownedLabels: node.owned.labels,
      sharedLabels: node.shared ?? NO_KEYS,
      allocatable: node.allocatable,
      machine: this.#machines.of(name),
      pool: this.#poolOf(name),
      freshness: this.freshness.of(name),
      services,
      pods: this.#componentPods.on(name),
      poolLabelSet: this.poolLabelSetOf(name),
      poolLabelSetsKnown: this.#known.has('poolLabelSets'),
      workspaces: this.#known.has('workspaces') ? this.#workspaces.on(name) : undefined,
    };
  }

  /** The NodePoolLabelSet that a node is labelled by. */
  poolLabelSetOf(name: string): ObservedPoolLabelSet | undefined {
    return this.poolLabelSets.of(this.#poolOf(name));
  }

  countByFreshness(): Record<Freshness['state'], number> {
    const count = { fresh: 0, leaving: 0, unheard: 0, silent: 0, absent: 0 };
    for (const name of this.#nodes.names()) count[this.freshness.of(name).state] += 1;
    return count;
  }

  /** This replica begins to lead, or has lost the API server for a while: all nodes get a fresh window. */
  restart(options: { forgetReports: boolean }): void {
    if (options.forgetReports) {
      this.#ledger.clear();
      this.#machines.clear();
    }
    this.freshness.restart(this.#options.clock.monotonic());
    this.markAll();
  }

  tick(): void {
    const now = this.#options.clock.monotonic();
    this.freshness.tick(now);
    for (const node of this.#machines.tick(now)) this.#options.onDirty(node, false);
  }

  /** Every node is to be looked at. */
  markAll(): void {
    for (const name of this.#nodes.names()) this.#options.onDirty(name, false);
  }

  /** Every node is looked at when a collection becomes known. */
  #learning<T>(what: 'workspaces' | 'poolLabelSets', collection: Collection<T>) {
    return {
      ...handlersOf(collection),
      onReplace: (all: T[]) => {
        const isFirst = !this.#known.has(what);
        this.#known.add(what);
        collection.replace(all);
        if (isFirst) this.markAll();
      },
    };
  }

  #markPools(pools: ReadonlySet<string>): void {
    for (const name of this.#nodes.names()) {
      const pool = this.#poolOf(name);
      if (pool !== undefined && pools.has(pool)) this.#options.onDirty(name, false);
    }
  }

  #poolOf(name: string): string | undefined {
    return poolOf(this.#nodes.get(name)?.labels ?? {}, this.#options.poolLabels);
  }

  #nodeChanged({ name, previous, next }: NodeChange): void {
    if (previous && previous.uid !== next?.uid) {
      this.#ledger.forget(name);
      this.#machines.forget(name);
      this.freshness.forget(name);
      this.#options.onNodeGone(name);
    }
    if (!next) return;
    if (this.#agentPods.on(name).length > 0) this.#expectAgent(name);
    this.freshness.setPool(name, this.#poolOf(name));
    this.#options.onDirty(name, false);
  }

  #expectAgent(node: string): void {
    if (!this.#nodes.get(node)) return;
    this.freshness.expect(node, this.#poolOf(node), this.#options.clock.monotonic());
    this.#options.onDirty(node, false);
  }

  #agentPodGone(podUid: string, node: string): void {
    this.#options.onAgentPodGone(podUid);
    // A node that reported stays expected: that its agent's pod is gone does not make it less silent.
    const hasReported = this.#ledger.content(node) !== undefined;
    if (!hasReported && this.#agentPods.on(node).length === 0) this.freshness.forget(node);
    this.#options.onDirty(node, false);
  }
}

type Collection<T> = { replace(all: readonly T[]): void; upsert(one: T): void; remove(one: T): void };

function handlersOf<T>(collection: Collection<T>) {
  return {
    onReplace: (all: T[]) => collection.replace(all),
    onUpsert: (one: T) => collection.upsert(one),
    onDelete: (one: T) => collection.remove(one),
  };
}
