import type { FullReport, Heartbeat, ReportReply } from '@rollcall/common/report.ts';
import type { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { FIELD_MANAGER, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { RuleSet } from '@rollcall/coordinator/decide/rules/rule-set.ts';
import type { KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import type { ReadinessGate } from '@rollcall/coordinator/model/services.ts';
import type { ObservedCsiNode } from '@rollcall/coordinator/state/csi-nodes.ts';
import type { ObservedPod } from '@rollcall/coordinator/state/observed-pod.ts';
import type { ObservedWorkspace } from '@rollcall/coordinator/state/observed-workspace.ts';
import type { ObservedPoolLabelSet } from '@rollcall/coordinator/state/pool-label-sets.ts';
import type { OnDemandThere } from './actors.ts';
import { ModelAgent } from './agent.ts';
import { ModelNodes, type NodeWrite } from './api-server/nodes.ts';
import { CoordinatorProcess, type Lines } from './coordinator-process.ts';
import { DaemonSets } from './daemon-sets.ts';
import { Faults } from './faults.ts';
import { LAG_MS, News } from './news.ts';
import { type HeldPod, type NodeHoldObject, observedHold } from './node-holds.ts';
import { NodeServiceWrites } from './node-service-writes.ts';
import { NODE_SERVICE_NAMES, type NodeServiceObject, POOL_LABEL } from './node-services.ts';
import { noteOurs } from './ours.ts';
import { rulesOf } from './rules.ts';
import { contentOf, podOf, saidBy } from './sights.ts';
import { startedOn } from './startup.ts';
import type { AgentIdentity, Replica } from './system.ts';
import { type NodeTruth, newTruth, SERVICE_NAMES } from './truth.ts';
import type { Want } from './want.ts';
import { type Workload, Workloads } from './workloads.ts';
import type { WorldOptions } from './world-options.ts';

const WORKSPACE_LABEL = 'gitpod.io/workload_workspace_regular';

/** A cluster, all that can happen to it, and two coordinators that keep its Nodes. */
export class World {
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly gate: ReadinessGate;
  readonly startupGate: readonly string[] | undefined;
  readonly evict: WorldOptions['evict'];
  readonly #modes: { dryRun: boolean; keepsLedger: boolean; wholeNodes: boolean };
  readonly #components: readonly string[];
  readonly nodes: ModelNodes;
  readonly truths = new Map<string, NodeTruth>();
  readonly sets = new Map<string, ObservedPoolLabelSet>();
  readonly workspaces = new Map<string, ObservedWorkspace>();
  readonly services = new Map<string, NodeServiceObject>();
  readonly serviceWrites = new NodeServiceWrites(this);
  readonly csiNodes = new Map<string, ObservedCsiNode>();
  /** By kind of check and node. */
  readonly onDemand = new Map<string, OnDemandThere>();
  readonly daemonSets = new DaemonSets(this);
  readonly holds = new Map<string, NodeHoldObject>();
  readonly heldPods = new Map<string, HeldPod>();
  readonly workloads = new Workloads();
  rulesOn = true;
  /** The rules of the files, while there are any. */
  readonly rules: RuleSet;
  /** Of the agents that start from now on; `undefined` where no report names one. */
  agentVersion: string | undefined;
  wallClockJumped = false;
  /** When objects that labels go by were last changed, by object. */
  readonly configured = new Map<string, number>();
  /** When the present term began; what was said before is of another. */
  termBeganMs = 0;
  readonly faults: Faults;
  readonly processes: CoordinatorProcess[] = [];
  readonly #news: News;
  /** Which of the coordinators leads. */
  leader: number | undefined;
  #serial = 0;
  onWrite: (write: NodeWrite) => void = () => {};
  /** A coordinator sends a request that may change something. */
  onSend: (process: CoordinatorProcess, request: KubeRequest) => void = () => {};
  /** What was wanted of a key within the last moments. */
  wantedOfLate: (node: string, id: string) => readonly Want[] = () => [];
  /** Something happened. */
  happened: () => void = () => {};
  /** Grows with everything that may change what is wanted. */
  version = 0;
  /** Of the coordinators, whatever came of them. */
  requests = 0;

  constructor(
    {
      gate,
      nodes,
      nodeServices,
      startupGate,
      daemonGate = false,
      evict,
      agentVersion,
      sharedLabels = false,
      rulesAreById = false,
      dryRun = false,
      keepsLedger = false,
    }: WorldOptions,
    clock: FakeClock,
    random: () => number,
  ) {
    this.clock = clock;
    this.random = random;
    this.faults = new Faults(clock, random);
    this.#news = new News(clock);
    this.gate = gate;
    this.rules = rulesOf({ areShared: sharedLabels, byId: rulesAreById });
    this.startupGate = startupGate;
    if (daemonGate) this.daemonSets.begin();
    this.evict = evict;
    this.agentVersion = agentVersion;
    const wholeNodes = nodeServices !== undefined || startupGate !== undefined || gate !== 'label';
    this.#modes = { dryRun, keepsLedger, wholeNodes };
    this.#components = nodeServices ? [...SERVICE_NAMES, ...NODE_SERVICE_NAMES] : SERVICE_NAMES;
    this.nodes = new ModelNodes((write) => this.#written(write));
    this.nodes.admission = (before, after, manager) =>
      manager === FIELD_MANAGER ? this.faults.refusal(before, after) : undefined;
    for (const [index, { pool, forWorkspaces }] of nodes.entries()) {
      this.populate(this.createNode(`n${index}`, pool, forWorkspaces));
    }
    for (const [name, spec] of Object.entries(nodeServices ?? {})) this.serviceWrites.set(name, spec);
    this.processes.push(this.#start(), this.#start());
    // What is there from the beginning was not changed.
    this.configured.clear();
    this.lead(0);
  }

  get nowMs(): number {
    return this.clock.monotonic();
  }

  /** Whether a replica leads, and knows enough to write. */
  get decided(): boolean {
    const process = this.leaderProcess;
    return process?.replica.deciding === true && !process.clock.isSuspended && process.replica.mayWrite;
  }

  get leaderProcess(): CoordinatorProcess | undefined {
    return this.leader === undefined ? undefined : this.processes[this.leader];
  }

  /** Whether the leader has listed NodeServices. */
  get servicesAreKnown(): boolean {
    return this.leaderProcess?.knowsServices !== false;
  }

  /** Whether a coordinator has seen the Node of this uid. */
  isSeen(node: string, uid: string): boolean {
    return this.processes.some(({ replica }) => replica.knows(node, uid));
  }

  jumpWallClock(deltaMs: number): void {
    this.wallClockJumped = true;
    this.clock.jumpWallClock(deltaMs);
  }

  /** Until when what was begun goes on. */
  busyUntilMs = 0;

  later(afterMs: number, act: () => void): void {
    this.busyUntilMs = Math.max(this.busyUntilMs, this.nowMs + afterMs);
    this.clock.after(afterMs, () => {
      act();
      this.happened();
    });
  }

  /** Whether the coordinator may see things together as they never were. */
  isMuddled(node: string): boolean {
    return this.#news.isMuddled(node);
  }

  /** The coordinator hears something of the node, or no longer hears it. */
  heard(way: string, node: string): void {
    this.version += 1;
    this.#news.heard(way, node);
  }

  heardByAll(way: string): void {
    this.version += 1;
    this.#news.heardByAll(way, this.truths.keys());
  }

  unique(prefix: string): string {
    this.#serial += 1;
    return `${prefix}-${this.#serial}`;
  }

  // Nodes

  createNode(name: string, pool: string, forWorkspaces: boolean): NodeTruth {
    const labels = { [POOL_LABEL]: pool, ...(forWorkspaces ? { [WORKSPACE_LABEL]: 'true' } : {}) };
    const owners = new Map([['Update kubelet', new Set(Object.keys(labels).map((key) => `label:${key}`))]]);
    const { metadata } = this.nodes.create({
      name,
      labels,
      owners,
      ...(this.startupGate ? { taints: [{ key: STARTUP_TAINT, value: '', effect: 'NoSchedule' }] } : {}),
      createdAt: new Date(this.clock.now()).toISOString(),
    });
    const truth = newTruth({ name, uid: metadata.uid, forWorkspaces }, this.clock);
    this.#news.begin(name);
    this.truths.set(name, truth);
    return truth;
  }

  /** The kubelet of a Node that is new starts what belongs there. */
  populate(truth: NodeTruth): void {
    if (this.truths.get(truth.name) !== truth) return;
    for (const each of this.#components) this.setPod(truth, each, { ready: true, terminating: false });
    for (const name of this.daemonSets.names) this.daemonSets.setPod(name, truth.name, true);
    this.startAgent(truth);
  }

  deleteNode(truth: NodeTruth): void {
    for (const each of this.#components) this.setPod(truth, each, undefined);
    for (const name of this.daemonSets.names) this.daemonSets.setPod(name, truth.name, undefined);
    this.deleteMachine(truth);
  }

  /** Its pods stay, and are bound to the name. */
  deleteMachine(truth: NodeTruth): void {
    for (const agent of [...truth.agents]) this.endAgentPod(truth, agent);
    for (const [name, { node }] of this.workloads.pods) if (node === truth.name) this.workloads.pods.delete(name);
    this.truths.delete(truth.name);
    this.nodes.delete(truth.name);
  }

  // Pods, sets, workspaces, rules

  setPod(truth: NodeTruth, service: string, state: { ready: boolean; terminating: boolean } | undefined): void {
    const { name: node, pods } = truth;
    const before = pods[service];
    const uid = before?.uid ?? this.unique('pod');
    const createdAtMs = before?.createdAtMs ?? this.clock.now();
    const readySinceMs = before?.ready ? before.readySinceMs : this.clock.now();
    pods[service] = state && { uid, createdAtMs, readySinceMs, ...state };
    if (!state && !before) return;
    const ready = state?.ready ?? false;
    const pod = podOf(`${service}-${uid}`, uid, { node, component: service, ready, createdAtMs, readySinceMs });
    this.heard('pods', node);
    this.tell('pods', (to) => to.componentPod({ ...pod, terminating: state?.terminating ?? false }, !state));
  }

  setPoolLabels(pool: string, labels: Record<string, string> | undefined): void {
    const before = this.sets.get(pool);
    if (!labels && !before) return;
    const set: ObservedPoolLabelSet = {
      kind: pool === 'a' ? 'NodePoolLabels' : 'NodePoolLabelSet',
      uid: before?.uid ?? this.unique('set'),
      name: pool,
      namespace: 'rollcall',
      generation: (before?.generation ?? 0) + 1,
      createdAt: before?.createdAt ?? new Date(Math.floor(this.clock.now() / 1000) * 1000).toISOString(),
      pool,
      labels: labels ?? {},
      status: undefined,
    };
    if (labels) this.sets.set(pool, set);
    else this.sets.delete(pool);
    this.configured.set(`set ${pool}`, this.nowMs);
    this.heardByAll('sets');
    this.tell('sets', (to) => to.poolLabelSet(set, !labels));
  }

  setWorkspace(name: string, node: string | undefined): void {
    const workspace = { uid: name, namespace: 'default', name, node: node ?? '' };
    if (node === undefined && !this.workspaces.delete(name)) return;
    if (node !== undefined) this.workspaces.set(name, workspace);
    this.heardByAll('workspaces');
    this.tell('workspaces', (to) => to.workspace(workspace, node === undefined));
  }

  setRules(on: boolean): void {
    this.rulesOn = on;
    this.configured.set('rules', this.nowMs);
    this.heardByAll('rules');
    for (const { replica, clock } of this.processes) {
      const tell = () => replica.rulesChanged();
      if (clock.isSuspended) void clock.awake().then(tell);
      else tell();
    }
  }

  // NodeHolds

  setHold(name: string, spec: Pick<NodeHoldObject, 'component' | 'unknownField'> | undefined): void {
    const before = this.holds.get(name);
    if (!spec && !before) return;
    const { uid = this.unique('hold'), generation = 0 } = before ?? {};
    const object = { unknownField: false, ...spec, name, uid, generation: generation + 1 };
    if (spec) this.holds.set(name, object);
    else this.holds.delete(name);
    this.heardByAll('holds');
    this.tell('holds', (to) => to.nodeHold(observedHold(object), !spec));
  }

  setHeldPod(name: string, state: Pick<HeldPod, 'node' | 'component'> | undefined): void {
    const before = this.heldPods.get(name);
    for (const pod of before ? [before] : []) {
      this.heldPods.delete(name);
      this.heard('held pods', pod.node);
      for (const { heldPods } of this.processes) heldPods.tell(pod, true);
      // Without it the node may be let go of, before another of its name comes.
      this.happened();
    }
    if (!state) return;
    const pod = { name, uid: this.unique('pod'), ...state };
    this.heldPods.set(name, pod);
    this.heard('held pods', pod.node);
    for (const { heldPods } of this.processes) heldPods.tell(pod, false);
  }

  /** A pod that needs this label runs from now on, in the place of one of its name. */
  bindWorkload(name: string, pod: Pick<Workload, 'node' | 'key' | 'value'>): void {
    this.workloads.pods.set(name, { name, uid: this.unique('pod'), isBlocked: false, ...pod });
  }

  // Agents

  startAgent(truth: NodeTruth, version = this.agentVersion): ModelAgent {
    const uid = this.unique('agent');
    const pod = podOf(uid, uid, { node: truth.name, component: 'rollcall-agent', createdAtMs: this.clock.now() });
    truth.agentPodCameMs = this.nowMs;
    this.tell('agents', (to) => to.agentPod(pod, false));
    return this.#bootAgent(truth, pod, version);
  }

  /** The pod stays, and begins anew. */
  rebootAgent(truth: NodeTruth, agent: ModelAgent): void {
    this.hangAgent(truth, agent);
    truth.agents = truth.agents.filter((each) => each !== agent);
    this.#bootAgent(truth, agent.pod, agent.version);
  }

  hangAgent(truth: NodeTruth, agent: ModelAgent): void {
    truth.alive.delete(agent);
  }

  endAgentPod(truth: NodeTruth, agent: ModelAgent): void {
    if (truth.alive.delete(agent)) agent.sayGoodbye(...contentOf(truth, agent));
    truth.agents = truth.agents.filter((each) => each !== agent);
    truth.agentPodWentMs = this.nowMs;
    this.tell('agents', (to) => to.agentPod(agent.pod, true));
    // Its goodbye may say what no report said before.
    this.happened();
  }

  #bootAgent(truth: NodeTruth, pod: ObservedPod, version: string | undefined): ModelAgent {
    const issuedAtSeconds = Math.floor(this.clock.now() / 1000);
    const identity = { node: truth.name, nodeUid: truth.uid, pod: { name: pod.name, uid: pod.uid }, issuedAtSeconds };
    const boot = this.unique('boot');
    const agent: ModelAgent = new ModelAgent(pod, { boot, version }, identity, (...sent) =>
      this.#deliver(truth, agent, ...sent),
    );
    truth.agents.push(agent);
    truth.alive.add(agent);
    return agent;
  }

  /** Agents report what they see. */
  agentsLook(): void {
    for (const truth of this.truths.values()) {
      for (const agent of truth.alive) agent.look(...contentOf(truth, agent), this.nowMs);
    }
  }

  #deliver(
    truth: NodeTruth,
    agent: ModelAgent,
    report: FullReport | Heartbeat,
    identity: AgentIdentity,
  ): ReportReply | undefined {
    const leading = this.leaderProcess;
    // As ingest compares it: what the leader does not know by its uid, it takes nothing from.
    if (
      !leading ||
      leading.clock.isSuspended ||
      !leading.replica.mayWrite ||
      !truth.reachable ||
      !leading.replica.knows(truth.name, identity.nodeUid)
    )
      return undefined;
    truth.voices.delete(report.boot);
    truth.voices.set(report.boot, { atMs: this.nowMs, leaving: report.leaving === true });
    if ('services' in report) this.heard('report', truth.name);
    // The goodbye of one of two says nothing that counts.
    const counts = !report.leaving || truth.alive.size === 0;
    if ('services' in report && counts) {
      const before = truth.said?.boot === report.boot ? truth.said.before : truth.said?.version;
      truth.said = { ...saidBy(truth, agent), boot: report.boot, before };
    }
    return leading.replica.accept(report, identity);
  }

  // Coordinators

  /** Ends the term, and begins another where a replica is to lead. */
  lead(next: number | undefined): void {
    const before = this.leaderProcess;
    this.leader = undefined;
    // One that is suspended does not learn of it.
    if (before && !before.clock.isSuspended) before.replica.standBy();
    const process = next === undefined ? undefined : this.processes[next];
    if (!process) return;
    process.clock.resume();
    process.replica.standBy();
    this.leader = next;
    this.termBeganMs = this.nowMs;
    for (const truth of this.truths.values()) {
      truth.voices.clear();
      truth.said = undefined;
    }
    // A watch that works is one that has told everything that was so when it began; objects of CRDs are listed again.
    const listed = (resolve: () => void) => process.lines.services.send(resolve);
    process.replica.lead(new Promise((resolve) => void this.clock.after(LAG_MS, () => listed(resolve))));
  }

  /** Each coordinator that runs renews its Lease, or learns that another holds it. */
  #renew(): void {
    for (const [index, { replica, clock }] of this.processes.entries()) {
      if (clock.isSuspended || !replica.leading) continue;
      if (index === this.leader) replica.renew();
      else replica.standBy();
    }
  }

  /** One that stopped leading by itself begins another term within about 2 s. */
  #stopped(process: CoordinatorProcess): void {
    const index = this.processes.indexOf(process);
    if (index !== this.leader) return;
    this.leader = undefined;
    this.later(2000 * this.random(), () => {
      if (this.leader === undefined) this.lead(index);
    });
  }

  /** The machine of a coordinator is suspended for a while. */
  suspend(index: number, forMs: number): void {
    const clock = this.processes[index]?.clock;
    clock?.suspend();
    this.later(forMs, () => clock?.resume());
  }

  /** Another process in the place of this one, which has listed everything. */
  replaceProcess(index: number): void {
    const before = this.processes[index];
    this.processes[index] = this.#start();
    before?.replica.stop();
  }

  /** What the ledgers say, in seconds by `direction key`, over all terms of all replicas. */
  lieSeconds(): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { replica } of this.processes) {
      for (const { key, direction, seconds } of replica.lieSeconds()) {
        const id = `${direction} ${key}`;
        sums.set(id, (sums.get(id) ?? 0) + seconds);
      }
    }
    return sums;
  }

  tick(): void {
    this.#renew();
    for (const { replica, clock } of this.processes) if (!clock.isSuspended) replica.tick();
  }

  stop(): void {
    for (const { replica } of this.processes) replica.stop();
  }

  #start(): CoordinatorProcess {
    const process: CoordinatorProcess = new CoordinatorProcess(this, {
      ...this.#modes,
      components: this.#components,
      onStoppedLeading: () => this.#stopped(process),
    });
    return process;
  }

  tell(line: keyof Lines, what: (to: Replica) => void): void {
    for (const { replica, lines } of this.processes) lines[line].send(() => what(replica));
  }

  #written(write: NodeWrite): void {
    const { name } = write.node.metadata;
    if (write.manager !== FIELD_MANAGER && write.manager !== 'kubelet') this.heard('nodes', name);
    this.version += 1;
    const truth = this.truths.get(name);
    if (truth) noteOurs(truth, write, this.nowMs);
    this.tell('nodes', (to) => to.node(write.type, write.node));
    this.onWrite(write);
    // Only now: the note is evaluated by what was so before it.
    for (const uid of startedOn(write.node)) this.truths.get(name)?.started.add(uid);
  }

  heal(): void {
    this.faults.heal();
    for (const truth of this.truths.values()) truth.reachable = true;
  }
}
