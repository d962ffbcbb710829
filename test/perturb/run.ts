import { DEFAULT_SERVICE_PREFIXES } from '../../deploy/source/manifests/settings.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import { createNode, createPod } from '../control-plane/cluster.ts';
import { agentServiceAccount, ownNamespace, requestAgentToken } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { Coordinator } from '../rig/coordinator.ts';
import { type Answer, Gateway } from './gateway.ts';
import { KeyHistory } from './key-history.ts';
import type { Berth, Lane } from './lane.ts';
import { ALPHA, NODE_SERVICES, POOL_LABEL } from './objects.ts';
import { type LeaseView, leaseOf } from './picture.ts';
import { DISTURB, type Kind } from './plans.ts';
import { ReportingAgent } from './reporting-agent.ts';
import type { Write } from './write.ts';

/** The `nth` write of its name since the scenario began to act, and what is done at it. */
export type Plan = { kind: Kind; write: string; nth: number };

/** A write that reached the API server. */
export type Done = Write & {
  step: string;
  status: number;
  /** The object was as the write wants it, as the one before had left it. */
  isRepeated: boolean;
};

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/rollcall/leases/rollcall-coordinator';
const ARGS = [
  '--gitpod=false',
  `--services-allowed-prefixes=${DEFAULT_SERVICE_PREFIXES}`,
  // Agents report more often, and find the next leader sooner.
  '--stale-after-seconds=10',
];
/** Long enough for what the coordinator tries again after 10 s. */
export const PATIENCE_MS = 45_000;

/** One run of a scenario in a lane: who runs, what they write, and what is done to them. */
export class Run {
  readonly lane: Lane;
  readonly api: ApiClient;
  readonly histories: KeyHistory;
  readonly writes: Done[] = [];
  readonly coordinators = new Map<string, Coordinator>();
  /** Coordinators that are stopping. They crash like the others, but are not started again. */
  readonly #leaving = new Map<string, Coordinator>();
  readonly agents = new Map<string, ReportingAgent>();
  readonly #plan: Plan | undefined;
  readonly #gateways = new Map<string, Gateway>();
  readonly #args = new Map<string, readonly string[]>();
  readonly #healing = new Set<Promise<void>>();
  #attempts = new Map<string, number>();
  #step: string | undefined;
  #holder: string | undefined;
  #crashes = 0;
  /** Resource versions in the answers to writes. A write that changes nothing adds none. */
  readonly #versions = new Set<string>();
  #stopping = false;
  #lastWriteMs = performance.now();
  /** Whether the plan was carried out. */
  played = false;

  constructor(lane: Lane, plan?: Plan) {
    this.lane = lane;
    this.api = lane.api;
    this.#plan = plan;
    this.histories = new KeyHistory(lane.api);
  }

  get link() {
    return this.lane.link;
  }

  get behindUrl(): string {
    return this.lane.behindUrl;
  }

  get gateways(): readonly Gateway[] {
    return [...this.#gateways.values()];
  }

  get crashes(): number {
    return this.#crashes;
  }

  /** Writes belong to this step from now on; before the first, they are not counted, and nothing is done to them. */
  begin(step: string): void {
    if (this.#step === undefined) this.#attempts = new Map();
    this.#step = step;
  }

  /** Milliseconds since anything was written. */
  get quietMs(): number {
    return performance.now() - this.#lastWriteMs;
  }

  async start(name: string, args: readonly string[] = []): Promise<Coordinator> {
    const index = name.endsWith('2') ? 1 : 0;
    const berth = this.lane.berths[index] as Berth;
    if (!this.#gateways.has(name)) await this.#open(name, berth);
    this.#args.set(name, args);
    const coordinator = new Coordinator({
      ports: berth.ports,
      kubeconfig: this.lane.coordinatorKubeconfig,
      name,
      args: [...ARGS, `--master=${this.#gateways.get(name)?.url}`, ...args],
    });
    this.coordinators.set(name, coordinator);
    return coordinator;
  }

  /** Sends a signal, and counts it no more. Returns the exit code. */
  async end(name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const coordinator = this.coordinators.get(name);
    if (!coordinator) return null;
    this.coordinators.delete(name);
    this.#leaving.set(name, coordinator);
    const code = await coordinator.kill(signal);
    this.#leaving.delete(name);
    if (signal === 'SIGKILL') await this.expireLease(name);
    return code;
  }

  /** Kills a coordinator; it is started again as its Deployment would do, and its Lease is as after its time. */
  async crash(name: string): Promise<void> {
    const coordinator = this.coordinators.get(name) ?? this.#leaving.get(name);
    if (!coordinator) return;
    this.#crashes += 1;
    const exiting = coordinator.kill('SIGKILL');
    this.heals(async () => {
      await exiting;
      await this.expireLease(name);
      if (!this.#stopping && this.coordinators.get(name) === coordinator) await this.start(name, this.#args.get(name));
    });
    await exiting;
  }

  /** Expires a Lease, as if no replica had renewed it for 15 s. */
  async expireLease(name: string): Promise<void> {
    const lease = await leaseOf(this.api);
    const holder = lease?.spec?.holderIdentity;
    if (!holder?.startsWith(name)) return;
    const operations = [
      { op: 'test', path: '/spec/holderIdentity', value: holder },
      { op: 'replace', path: '/spec/holderIdentity', value: '' },
      { op: 'replace', path: '/spec/leaseDurationSeconds', value: 1 },
    ];
    await this.api.patch<LeaseView>(LEASE, operations, 'application/json-patch+json');
  }

  /** Goes on beside the run; nothing is judged before it is over. */
  heals(heal: () => Promise<void>): void {
    const healing = heal().finally(() => this.#healing.delete(healing));
    this.#healing.add(healing);
  }

  get healed(): boolean {
    return this.#healing.size === 0;
  }

  /** The API server that was behind has caught up, and who reads goes anywhere. */
  present(): void {
    this.link.release();
    for (const gateway of this.#gateways.values()) gateway.readsAt = this.lane.controlPlane.url;
  }

  async addNode(name: string, { ready = true } = {}): Promise<void> {
    await createNode(this.api, name, { ready, labels: { [POOL_LABEL]: 'blue' } });
  }

  /** Adds a pod of alpha and the agent to a node. */
  async populate(node: string): Promise<void> {
    await this.addPod(`alpha-${node}`, node);
    await this.startAgent(node);
  }

  /** Creates a pod; by default a Ready pod of alpha that tolerates every taint. */
  async addPod(pod: string, node: string, change: { ready?: boolean; app?: string; tolerations?: object[] } = {}) {
    const { ready = true, app = 'alpha', tolerations = [{ operator: 'Exists' }] } = change;
    const address = { podIP: '127.0.0.1', hostIP: '127.0.0.1' };
    const more = { labels: { app }, spec: { tolerations }, ...address };
    await createPod(this.api, { namespace: 'default', name: pod, nodeName: node, ready, ...more });
  }

  async removePod(pod: string, namespace = 'default'): Promise<void> {
    await this.api.delete(`/api/v1/namespaces/${namespace}/pods/${pod}`, { gracePeriodSeconds: 0 });
  }

  /** A new pod of the agent, and the agent in it. */
  async startAgent(node: string): Promise<void> {
    const { metadata } = await createPod(this.api, {
      namespace: ownNamespace,
      name: `rollcall-agent-${node}`,
      nodeName: node,
      serviceAccount: agentServiceAccount,
      ready: true,
    });
    const token = await requestAgentToken(this.api, { name: metadata.name, uid: metadata.uid ?? '' });
    const urls = this.lane.berths.map(({ ports }) => `https://127.0.0.1:${ports.reports}`);
    this.agents.get(node)?.stop();
    this.agents.set(node, await ReportingAgent.start({ node, token, urls, dir: this.lane.dir }));
  }

  async removeNode(node: string): Promise<void> {
    this.agents.get(node)?.stop();
    this.agents.delete(node);
    await this.api.delete(`/api/v1/nodes/${node}`);
    await this.removePod(`alpha-${node}`);
    await this.removePod(`rollcall-agent-${node}`, ownNamespace);
  }

  /** Has everything removed, by a Job that is started again until it succeeds. */
  async prune(): Promise<void> {
    const name = 'coordinator-1';
    let pruner = await this.start(name, ['--prune']);
    while ((await pruner.exited()) !== 0) {
      const failed = pruner;
      const next = () => [this.coordinators.get(name)].find((each) => each !== failed);
      pruner = await waitFor('the Job to be tried again', next, { timeoutMs: 20_000 });
    }
    this.coordinators.delete(name);
  }

  async someLeads(): Promise<boolean> {
    const leading = await Promise.all([...this.coordinators.values()].map((each) => each.leads()));
    return leading.includes(true);
  }

  /** Whether a coordinator leads that has heard every agent. */
  async isLed(): Promise<boolean> {
    for (const coordinator of this.coordinators.values()) {
      if (!(await coordinator.leads())) continue;
      const heard = await coordinator.metric('rollcall_coordinator_nodes', { state: 'fresh' }).catch(() => -1);
      if (heard === this.agents.size) return true;
    }
    return false;
  }

  async led(): Promise<void> {
    const options = { timeoutMs: PATIENCE_MS };
    await waitFor('a coordinator that leads and has heard every agent', () => this.isLed(), options);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const agent of this.agents.values()) agent.stop();
    await Promise.all([...this.coordinators.values()].map((each) => each.destroy()));
    await Promise.allSettled([...this.#healing]);
    await Promise.all([...this.coordinators.values()].map((each) => each.destroy()));
    this.link.release();
    for (const gateway of this.#gateways.values()) gateway.stop();
    this.histories.stop();
  }

  async #open(name: string, berth: Berth): Promise<void> {
    const gateway = new Gateway({
      controlPlane: this.lane.controlPlane,
      client: name,
      port: berth.gatewayPort,
      holder: () => this.#holder,
      onWrite: (_gateway, write, forward) => this.#onWrite(gateway, write, forward),
    });
    this.#gateways.set(name, gateway);
    await gateway.start();
  }

  async #onWrite(gateway: Gateway, write: Write, forward: () => Promise<Answer>): Promise<Answer | undefined> {
    this.#lastWriteMs = performance.now();
    const step = this.#step;
    const attempt = (this.#attempts.get(write.name) ?? 0) + 1;
    this.#attempts.set(write.name, attempt);
    const through = async () => {
      const answer = await forward();
      if (write.kind === 'lease' && answer.status === 200) this.#holder = holderIn(answer);
      const version = versionIn(answer);
      const isRepeated = version !== undefined && this.#versions.has(version);
      if (version !== undefined) this.#versions.add(version);
      if (step !== undefined) this.writes.push({ ...write, step, status: answer.status, isRepeated });
      this.#lastWriteMs = performance.now();
      return answer;
    };
    const plan = this.#plan;
    const isDue = step !== undefined && !this.played && plan?.write === write.name && plan.nth === attempt;
    if (!plan || !isDue) return through();
    this.played = true;
    return DISTURB[plan.kind](this, gateway, through);
  }
}

function versionIn({ status, body }: Answer): string | undefined {
  return status < 300 ? (JSON.parse(body) as LeaseView).metadata.resourceVersion : undefined;
}

function holderIn({ body }: Answer): string | undefined {
  return (JSON.parse(body) as LeaseView).spec?.holderIdentity || undefined;
}

export async function createAlpha(api: ApiClient): Promise<void> {
  await api.post(NODE_SERVICES, ALPHA);
}
