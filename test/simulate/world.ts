import type { HttpAnswer } from '@rollcall/agent/report/http-post.ts';
import { CHECK_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { collectionPath, WATCHED } from '@rollcall/common/watched-resources.ts';
import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import type { CoordinatorConfig } from '@rollcall/coordinator/model/config.ts';
import type { Network } from '@rollcall/coordinator/term/testing/machine.ts';
import type { NodeWrite } from '../model/api-server/nodes.ts';
import { ownerId } from '../model/api-server/ownership.ts';
import { ModelServer } from '../model/api-server/server.ts';
import { SHAPED_KINDS, SHAPES, type Shape, type ShapedKind } from '../model/kinds.ts';
import { generator } from '../model/random.ts';
import { SimAgent } from './agent.ts';
import { POOL_LABEL, SimCoordinator } from './coordinator.ts';
import { ReportNetwork, SERVICE_ORIGIN } from './network.ts';
import { type PodState, SimNode } from './node.ts';
import { type ServiceSpec, specOf, TIER_LABEL } from './services.ts';
import { foreignCondition } from './strangers.ts';
import { reviewOf, tokenOf } from './tokens.ts';

export const PATHS = {
  services: '/apis/rollcall.dev/v1alpha1/nodeservices',
  holds: '/apis/rollcall.dev/v1alpha1/nodeholds',
  agentPods: '/api/v1/namespaces/rollcall/pods',
  servicePods: '/api/v1/namespaces/apps/pods',
  leases: '/apis/coordination.k8s.io/v1/namespaces/rollcall/leases',
  poolLabels: '/apis/rollcall.dev/v1alpha1/namespaces/rollcall/nodepoollabels',
  pools: '/apis/labels.banzaicloud.io/v1alpha1/namespaces/rollcall/nodepoollabelsets',
} as const;

export type WorldOptions = {
  services: readonly ServiceSpec[];
  nodes: readonly { pool: string; tier: string }[];
  /** How fast the monotonic clocks of the coordinators run. */
  rates: readonly [number, number];
  /** Agents know the Service, or each coordinator. */
  byService: boolean;
};

const HOSTS = ['127.0.0.11', '127.0.0.12'] as const;
const API_LATENCY_MS = 15;

/** A write to a Node, with the coordinator that sent it. */
export type SeenWrite = NodeWrite & { by: SimCoordinator | undefined };

/** A whole cluster in one process: the model of an API server, two coordinators, an agent on each node, and a network. */
export class World {
  readonly clock = new FakeClock();
  readonly random: () => number;
  readonly server: ModelServer;
  readonly network: ReportNetwork;
  readonly nodes = new Map<string, SimNode>();
  readonly services = new Map<string, ServiceSpec>();
  coordinators: SimCoordinator[] = [];
  readonly #config: CoordinatorConfig;
  readonly #options: WorldOptions;
  /** Network between each coordinator and the API server. */
  readonly apiWays: [Network, Network];
  /** Writes to Nodes that the coordinators sent, whatever came of them. */
  nodeRequests = 0;
  #serial = 0;
  /** Whose request is carried out. */
  #acting: SimCoordinator | undefined;
  onWrite: (write: SeenWrite) => void = () => {};
  onReport: (node: string, to: SimCoordinator, answer: HttpAnswer, report: string) => void = () => {};
  /** A coordinator sends a request; what is returned is called when it has an answer, or gives it up. */
  onSent: (by: SimCoordinator, request: KubeRequest) => (how: 'answered' | 'given up') => void = () => () => {};
  /** The API server carries a request out. */
  onCarriedOut: (request: KubeRequest) => void = () => {};
  /** A coordinator did something. */
  onStep: () => void = () => {};
  /** Something happened that a trace tells. */
  tell: (line: string) => void = () => {};
  /** Called when the true state of a node may have changed. */
  onTruth: () => void = () => {};

  constructor(options: WorldOptions, seed: number, config: CoordinatorConfig) {
    this.#options = options;
    this.#config = config;
    this.random = generator(seed);
    this.server = new ModelServer({
      collections: [
        ...Object.values(PATHS),
        ...SHAPED_KINDS.flatMap((kind) => ('object' in SHAPES[kind] ? pathOf(kind) : [])),
      ],
      clock: this.clock,
      onNodeWrite: (write) => this.onWrite({ ...write, by: this.#acting }),
      onRequest: (request) => {
        const { method, path } = request;
        this.onCarriedOut(request);
        if (method === 'PATCH' && path.startsWith('/api/v1/nodes/')) this.nodeRequests += 1;
      },
      reviewToken: (token) =>
        reviewOf(token, this.clock.now(), ({ name, uid }) => this.#agentPods.get(name)?.metadata.uid === uid),
    });
    this.network = new ReportNetwork({
      world: this.clock,
      random: this.random,
      coordinators: () => this.coordinators,
      onAnswer: (...what) => this.onReport(...what),
    });
    this.apiWays = [this.#apiWay(), this.#apiWay()];
    for (const service of options.services) this.setService(service);
    for (const [index, { pool, tier }] of options.nodes.entries()) this.createNode(`n${index}`, pool, tier, 0);
    this.coordinators = [this.#coordinator(0), this.#coordinator(1)];
  }

  get nowMs(): number {
    return this.clock.monotonic();
  }

  get leader(): SimCoordinator | undefined {
    return this.coordinators.find(({ decides }) => decides);
  }

  unique(prefix: string): string {
    this.#serial += 1;
    return `${prefix}-${this.#serial}`;
  }

  later(afterMs: number, act: () => void): void {
    this.clock.after(afterMs, act);
  }

  // Coordinators

  #apiWay(): Network {
    const latency = () => 1 + this.random() * API_LATENCY_MS;
    return { partitioned: false, latency, failsBefore: 0, failsAfter: 0, lag: () => this.random() * 50 };
  }

  #coordinator(index: 0 | 1): SimCoordinator {
    this.#serial += 1;
    const acting = <T>(act: () => T): T => {
      this.#acting = coordinator;
      try {
        return act();
      } finally {
        this.#acting = undefined;
      }
    };
    const { server } = this;
    const coordinator: SimCoordinator = new SimCoordinator({
      name: `coordinator-${index}`,
      host: HOSTS[index],
      serial: this.#serial,
      config: this.#config,
      world: this.clock,
      random: this.random,
      server: {
        answer: (request) => acting(() => server.answer(request)),
        watch: (request, onEvent) => server.watch(request, onEvent),
      },
      network: this.apiWays[index],
      rate: this.#options.rates[index],
      afterStep: () => this.onStep(),
      onSent: (request) => this.onSent(coordinator, request),
    });
    return coordinator;
  }

  /** Another process in the place of one that has ended. */
  startCoordinator(index: 0 | 1): void {
    if (this.coordinators[index]?.machine.isDead) this.coordinators[index] = this.#coordinator(index);
  }

  // Services

  setService(service: ServiceSpec): void {
    this.services.set(service.name, service);
    const objects = this.server.collection(PATHS.services);
    const before = objects.get(service.name);
    const metadata = before?.metadata ?? { creationTimestamp: new Date(this.clock.now()).toISOString() };
    objects.put(service.name, { ...before, metadata, spec: specOf(service) });
    this.onTruth();
  }

  deleteService(name: string): void {
    this.services.delete(name);
    this.server.collection(PATHS.services).delete(name);
    this.onTruth();
  }

  // Nodes

  /** A Node that is new; what belongs on it comes within `populatedMs`. */
  createNode(name: string, pool: string, tier: string, populatedMs: number): SimNode {
    const labels = { [POOL_LABEL]: pool, [TIER_LABEL]: tier, 'kubernetes.io/hostname': name };
    const ready = ['', '#type', '#status'].map((field) => `condition:Ready${field}`);
    const owners = new Map([
      [ownerId('Update', 'kubelet'), new Set(Object.keys(labels).map((key) => `label:${key}`))],
      [ownerId('Update', 'kubelet', 'status'), new Set(ready)],
    ]);
    const { metadata } = this.server.nodes.create({
      name,
      labels,
      owners,
      conditions: [{ type: 'Ready', status: 'True' }],
      createdAt: new Date(this.clock.now()).toISOString(),
    });
    const node = new SimNode(name, metadata.uid, `198.51.100.${Number(name.slice(1)) + 1}`, this.nowMs);
    node.silence = { sinceMs: this.nowMs, goodbye: false };
    this.nodes.set(name, node);
    const populate = () => {
      for (const service of this.services.keys()) this.setPod(node, service, 'ready');
      if (node.agents.length === 0) this.startAgent(node);
      for (const kind of SHAPED_KINDS) this.setSeen(node, kind, true);
    };
    for (const { port } of this.services.values()) node.sockets.set(port, 'up');
    if (populatedMs === 0) populate();
    else this.later(populatedMs, () => node.isGone || populate());
    this.onTruth();
    return node;
  }

  deleteNode(node: SimNode): void {
    node.isGone = true;
    for (const agent of [...node.agents]) this.killAgent(node, agent, 'with its pod');
    for (const service of node.pods.keys()) this.setPod(node, service, 'absent');
    this.nodes.delete(node.name);
    this.server.nodes.delete(node.name);
    this.onTruth();
  }

  // Pods

  get #agentPods() {
    return this.server.collection(PATHS.agentPods);
  }

  setPod(node: SimNode, service: string, state: PodState): void {
    const objects = this.server.collection(PATHS.servicePods);
    const known = node.pods.get(service);
    if (known?.state === state || (!known && state === 'absent')) return;
    const name = known && known.state !== 'absent' ? known.name : this.unique(service);
    node.pods.set(service, { name, state });
    if (state === 'absent') objects.delete(name);
    else objects.put(name, pod({ node, labels: { app: service }, state, clock: this.clock, account: 'app' }));
    this.onTruth();
  }

  // What services ask for besides

  setSeen(node: SimNode, kind: ShapedKind, isSo: boolean): void {
    const { name, uid } = node;
    const shape: Shape = SHAPES[kind];
    if (isSo) node.seen.add(kind);
    else node.seen.delete(kind);
    if ('object' in shape) {
      const { metadata, ...object } = shape.object({ name, uid, createdAtMs: this.clock.now() }, isSo);
      const { uid: _uid, resourceVersion: _version, ...of } = metadata;
      this.server.collection(pathOf(kind)).put(metadata.name, { ...object, metadata: of });
    } else if ('allocatable' in shape) this.server.nodes.setAllocatable(name, shape.allocatable(isSo));
    else if ('condition' in shape) foreignCondition(this, node, shape.condition(isSo));
    else for (const agent of node.agents) agent.devicesChanged();
    this.onTruth();
  }

  // Agents

  /** A pod of an agent, and its process; in the pod of another, where that is told. */
  startAgent(node: SimNode, podUid?: string): SimAgent {
    const name = podUid ?? this.unique('agent');
    const labels = { app: 'rollcall-agent' };
    const shape = { node, labels, state: 'ready', clock: this.clock, account: 'rollcall-agent' } as const;
    const object = podUid ? this.#agentPods.get(name) : this.#agentPods.put(name, pod(shape));
    const { uid = name } = object?.metadata ?? {};
    const agent = new SimAgent({
      node: node.name,
      address: node.address,
      podUid: name,
      newBoot: () => this.unique('boot'),
      urls: this.#options.byService ? [SERVICE_ORIGIN] : HOSTS.map((host) => `http://${host}:8443`),
      world: this.clock,
      random: this.random,
      sockets: node.sockets,
      devices: () => SHAPES.device.devices(node.seen.has('device')),
      token: tokenOf({ node: node.name, pod: { name, uid } }, () => this.clock.now()),
      post: (request, from) => this.network.post(node.name, request, from),
    });
    node.agents.push(agent);
    this.#noteSilence(node, false);
    return agent;
  }

  killAgent(node: SimNode, agent: SimAgent, what: 'with its pod' | 'alone'): void {
    agent.kill();
    this.#ended(node, agent);
    if (what === 'with its pod') this.#agentPods.delete(agent.podUid);
    this.#noteSilence(node, what === 'with its pod');
  }

  /** SIGTERM, and then its pod goes. */
  async stopAgent(node: SimNode, agent: SimAgent): Promise<void> {
    this.#noteSilence(node, true);
    await agent.stop();
    this.#ended(node, agent);
    this.#agentPods.delete(agent.podUid);
    this.#noteSilence(node, true);
  }

  #ended(node: SimNode, agent: SimAgent): void {
    node.agents = node.agents.filter((each) => each !== agent);
  }

  /** Records whether any agent of the node can be heard; `goodbye`: it may have been said, or the pod is gone. */
  #noteSilence(node: SimNode, goodbye: boolean): void {
    const speaks = node.agents.some(({ process }) => !process.isDead && !process.isPaused);
    if (speaks && !this.network.cutNodes.has(node.name)) node.silence = undefined;
    else
      node.silence = {
        sinceMs: node.silence?.sinceMs ?? this.nowMs,
        goodbye: goodbye || node.silence?.goodbye === true,
      };
  }

  /** To be called after a change that may silence a node or end its silence. */
  hearingChanged(node: SimNode): void {
    this.#noteSilence(node, false);
  }

  /** Ends everything that is wrong. */
  heal(): void {
    this.network.heal();
    for (const way of this.apiWays)
      Object.assign(way, { partitioned: false, failsBefore: 0, failsAfter: 0, lag: () => 0 });
    for (const [index, { machine }] of this.coordinators.entries()) {
      if (machine.isPaused) machine.resume();
      machine.heal();
      if (machine.isDead) this.startCoordinator(index as 0 | 1);
      else machine.jumpWallClock(-machine.wallOffsetMs);
    }
    for (const node of this.nodes.values()) {
      for (const { process } of node.agents) if (process.isPaused) process.resume();
      if (node.agents.length === 0) this.startAgent(node);
      this.hearingChanged(node);
    }
  }

  /** Nothing of it does anything any more. */
  end(): void {
    for (const { machine } of this.coordinators) machine.kill();
    for (const { agents } of this.nodes.values()) for (const agent of agents) agent.kill();
  }
}

/** Of the objects by which a kind of check is seen. */
function pathOf(kind: ShapedKind): string {
  const { watched } = CHECK_KINDS[kind] ?? {};
  return watched ? collectionPath(WATCHED[watched]) : '';
}

type PodShape = {
  node: SimNode;
  labels: Record<string, string>;
  state: Exclude<PodState, 'absent'>;
  clock: FakeClock;
  account: string;
};

function pod({ node, labels, state, clock, account }: PodShape) {
  const now = new Date(clock.now()).toISOString();
  const metadata = { labels, creationTimestamp: now, ...(state === 'terminating' ? { deletionTimestamp: now } : {}) };
  const status = state === 'not-ready' ? 'False' : 'True';
  return {
    metadata: { ...metadata, namespace: account === 'app' ? 'apps' : 'rollcall' },
    spec: { nodeName: node.name, serviceAccountName: account, tolerations: [{ operator: 'Exists' }] },
    status: { podIP: node.address, hostIP: node.address, startTime: now, conditions: [{ type: 'Ready', status }] },
  };
}

/** Whether a write is one of rollcall's. */
export function isOurs({ manager }: Pick<NodeWrite, 'manager'>): boolean {
  return manager === FIELD_MANAGER;
}
