import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import { createPod, setPodReady } from '../control-plane/cluster.ts';
import { requestAgentToken } from '../control-plane/rbac.ts';
import { eachOf } from './each-of.ts';
import { FleetAgent } from './fleet-agent.ts';
import { agentPod, nodeManifest, SERVICES_NAMESPACE, servicePod, servicePodName } from './fleet-objects.ts';
import { ReportClient } from './report-client.ts';

/** Few enough that two cores are not all the API server's. */
const CREATE_CONCURRENCY = 16;
const REPORT_CONCURRENCY = 64;

export type FleetOptions = {
  api: ApiClient;
  /** URLs of the coordinators, tried in turn. */
  reportsUrls: readonly string[];
  /** PEM of the coordinators' CA. */
  ca: string;
  /** Name in their certificate; defaults to the address. */
  serverName?: string;
  /** Each agent has a connection of its own, instead of a few for all. */
  ownConnections?: boolean;
  /** How long tokens are good for; defaults to an hour. */
  tokenSeconds?: number;
};

/** Nodes with their pods and tokens, all real objects, and the reports of their agents from this one process. */
export class Fleet {
  readonly names: string[] = [];
  /** Reports that were taken. */
  readonly taken = { full: 0, heartbeat: 0 };
  /** When the last accepted full report of each node was sent, in monotonic milliseconds. */
  readonly reportedMs = new Map<string, number>();
  readonly reportsUrls: readonly string[];
  ca: string;
  readonly #options: FleetOptions;
  readonly #api: ApiClient;
  readonly #clients: ReportClient[] = [];
  readonly #agents = new Map<string, FleetAgent>();
  readonly #tokens = new Map<string, string>();
  readonly #pods = new Map<string, { name: string; uid: string }>();

  constructor(options: FleetOptions) {
    const { api, reportsUrls, ca } = options;
    this.#options = options;
    this.#api = api;
    this.reportsUrls = reportsUrls;
    this.ca = ca;
    if (!options.ownConnections) this.#connect();
  }

  /** Creates nodes, pods and tokens; the agents are silent until they are told to report. */
  async create(names: readonly string[], onCreated: (name: string, done: number) => void = () => {}): Promise<void> {
    let done = 0;
    await eachOf(names, CREATE_CONCURRENCY, async (name) => {
      const address = addressOf(this.names.push(name));
      await this.#api.post('/api/v1/nodes', nodeManifest(name, address));
      for (const service of [WS_DAEMON, REGISTRY_FACADE])
        await createPod(this.#api, servicePod(service, name, address));
      const { metadata } = await createPod(this.#api, agentPod(name, address));
      this.#pods.set(name, { name: metadata.name, uid: metadata.uid ?? '' });
      const token = await this.#requestToken(name);
      const client = this.#options.ownConnections ? this.#connect(1) : (this.#clients[0] ?? this.#connect());
      this.#agents.set(name, new FleetAgent({ node: name, token, client, onTaken: this.#onTaken(name) }));
      onCreated(name, ++done);
    });
  }

  /** Creates them, and each reports as soon as it is there, while the next ones are created. */
  async join(names: readonly string[], onCreated: (name: string, done: number) => void = () => {}): Promise<void> {
    const reports: Promise<void>[] = [];
    await this.create(names, (name, done) => {
      reports.push(this.report([name]));
      onCreated(name, done);
    });
    await Promise.all(reports);
  }

  /** Sends full reports, by default of all nodes; resolves when every one was taken. Heartbeats follow by themselves. */
  async report(
    names: readonly string[] = this.names,
    see?: { ready: boolean; version?: string; services?: readonly string[] },
  ): Promise<void> {
    await eachOf(names, REPORT_CONCURRENCY, async (name) => {
      const agent = this.#agents.get(name);
      if (see) agent?.see(see.ready, see.version, see.services);
      await agent?.report();
    });
  }

  /** Bytes of the longest reply to a report so far. */
  get replyBytesMax(): number {
    return Math.max(...this.#clients.map(({ replyBytesMax }) => replyBytesMax));
  }

  /** The body of the next report of a node, for those who send it themselves. */
  messageOf(name: string, full: boolean): string {
    return this.agentOf(name).message(full);
  }

  agentOf(name: string): FleetAgent {
    const agent = this.#agents.get(name);
    if (!agent) throw new Error(`There is no node ${name}`);
    return agent;
  }

  /** A new token for an agent, as its kubelet brings one before the old one expires. */
  async renewToken(name: string): Promise<void> {
    this.agentOf(name).renew(await this.#requestToken(name));
  }

  /** Replaces the CA, as kubelets do when the ConfigMap has changed. */
  trust(ca: string): void {
    this.ca = ca;
    for (const client of this.#clients) client.trust(ca);
  }

  /** Where there is another coordinator. */
  alsoReportTo(url: string): void {
    for (const client of this.#clients) client.add(url);
  }

  tokenOf(name: string): string {
    return this.#tokens.get(name) ?? '';
  }

  /** Reports that were not taken when they were sent. */
  get refused(): number {
    return this.#clients.reduce((sum, { refused }) => sum + refused, 0);
  }

  /** Changes the status of a service's pod on this node, as a kubelet does. */
  async setPodReady(service: string, node: string, ready: boolean): Promise<void> {
    await setPodReady(this.#api, SERVICES_NAMESPACE, servicePodName(service, node), ready);
  }

  /** No agent says anything until it is told to report. */
  silence(): void {
    for (const agent of this.#agents.values()) agent.silence();
  }

  /** No agent says anything more; the objects stay. */
  stop(): void {
    this.silence();
    for (const client of this.#clients) client.close();
  }

  #connect(socketsMax?: number): ReportClient {
    const { serverName } = this.#options;
    const more = { ...(socketsMax ? { socketsMax } : {}), ...(serverName ? { serverName } : {}) };
    const client = new ReportClient(this.reportsUrls, this.ca, more);
    this.#clients.push(client);
    return client;
  }

  async #requestToken(name: string): Promise<string> {
    const pod = this.#pods.get(name);
    if (!pod) throw new Error(`${name} has no agent's pod`);
    const token = await requestAgentToken(this.#api, pod, this.#options.tokenSeconds);
    this.#tokens.set(name, token);
    return token;
  }

  #onTaken(name: string) {
    return (full: boolean, sentMs: number) => {
      this.taken[full ? 'full' : 'heartbeat'] += 1;
      if (full) this.reportedMs.set(name, sentMs);
    };
  }
}

function addressOf(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}
