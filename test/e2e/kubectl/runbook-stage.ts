import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ALERTS } from '../../../deploy/source/monitoring/alerts.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type DiscoveredPort, Prometheus, type Sample } from '../../monitoring/prometheus.ts';
import { Coordinator, type CoordinatorPorts, coordinatorPorts } from '../../rig/coordinator.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { Program } from '../../rig/program.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { type PolicyOptions, startPolicy } from '../apply/policy.ts';
import { RunbookPages } from './runbook-pages.ts';

/** Something that a page tells its reader to look at, and what is seen there. */
export type Sight = { says: RegExp } & (
  | { log: string; of: () => Program | Promise<Program> }
  | { event: string; about: string }
  /** A command of the page. */
  | { run: RegExp; names?: Record<string, string> }
  /** A path that the page names, at a program. */
  | { get: string; at: () => string | Promise<string> }
  /** PromQL of the page. */
  | { query: string }
);

const CLOCK_SPEED = 3;
const STARTUP_WAIT_SECONDS = 3 * CLOCK_SPEED;
const STALE_SECONDS = 5 * CLOCK_SPEED;
export const REQUIRED_AT_START = 'example.com/set-up';
/** Instead of the minutes of an alert: the shortest in which two scrapes of a busy machine are. */
const WINDOW = '6s';
const PATIENCE = { timeoutMs: 60_000, everyMs: 200 };

type StoredEvent = KubeObject & { reason: string; message: string; involvedObject: { name: string } };

/** A rig that Prometheus scrapes, with whatever the runbooks are about switched on, and the runbooks. */
export class RunbookStage {
  readonly controlPlane: ControlPlane;
  readonly rig: Rig;
  readonly pages: RunbookPages;
  readonly dir: string;
  /** What the receiver of notifications answers. */
  receiverStatus = 200;
  readonly #embedded: EmbeddedRig;
  readonly #surplus: { ports: CoordinatorPorts; running?: Coordinator };
  #receiver: Server | undefined;
  /** Policies by node. */
  readonly #policies = new Map<string, Awaited<ReturnType<typeof startPolicy>>>();
  #prometheus!: Prometheus;

  private constructor(embedded: EmbeddedRig, pages: RunbookPages, dir: string, surplus: CoordinatorPorts) {
    this.#embedded = embedded;
    this.controlPlane = embedded.controlPlane;
    this.rig = embedded.rig;
    this.pages = pages;
    this.dir = dir;
    this.#surplus = { ports: surplus };
  }

  static async start(prometheus: string): Promise<RunbookStage> {
    const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-runbook-faults-'));
    await mkdir(path.join(dir, 'rules'));
    await mkdir(path.join(dir, 'sys/bus'), { recursive: true });
    let status = () => 200;
    const receiver = createServer((request, response) => {
      request.resume();
      response.writeHead(status()).end();
    });
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    const embedded = await startEmbeddedRig({
      nodes: 0,
      coordinators: 2,
      clockSpeed: CLOCK_SPEED,
      coordinatorArgs: [
        '--readiness-gate=both',
        '--verbose',
        `--stale-after-seconds=${STALE_SECONDS}`,
        '--scheduler-listen=127.0.0.1:0',
        `--label-dir=${path.join(dir, 'rules')}`,
        `--startup-gate-requires=${REQUIRED_AT_START}`,
        `--startup-gate-max-wait-seconds=${STARTUP_WAIT_SECONDS}`,
        '--evict',
        '--evict-readiness',
        '--eviction-delay-seconds=0',
        `--notify-url=127.0.0.1:${(receiver.address() as AddressInfo).port}/told`,
      ],
    });
    const surplus = await coordinatorPorts();
    const pages = await RunbookPages.open(embedded.controlPlane);
    const stage = new RunbookStage(embedded, pages, dir, surplus);
    stage.#receiver = receiver;
    status = () => stage.receiverStatus;
    try {
      await stage.#addNodes();
      stage.#prometheus = await Prometheus.start(prometheus, stage.#targets());
      // What increases or changes needs a sample from before.
      const running = stage.#targets().filter(({ pod }) => pod !== 'surplus');
      await Promise.all(running.map(({ pod }) => stage.untilScraped(pod)));
    } catch (error) {
      await stage.stop();
      throw error;
    }
    return stage;
  }

  /** Puts a policy on what the coordinator writes to a node, until `allow`. */
  async deny(node: string, options: Omit<PolicyOptions, 'reason' | 'on'>): Promise<void> {
    const cluster = { controlPlane: this.controlPlane, kubeconfig: this.rig.cluster.coordinatorKubeconfig };
    const expression = `object.metadata.name != '${node}' || (${options.expression})`;
    this.#policies.set(node, await startPolicy(cluster, { ...options, reason: 'Invalid', on: node, expression }));
  }

  async allow(node: string): Promise<void> {
    await this.#policies.get(node)?.remove();
  }

  async #addNodes(): Promise<void> {
    await copyFile(this.rig.caFile, this.ownCaFile);
    // Only nodes for workspaces have the taints of services.
    await this.rig.addNode({ caFile: this.ownCaFile, labels: { 'gitpod.io/workload_workspace_regular': 'true' } });
    await this.rig.addNode({ sysfsRoot: this.sysfs });
    // Their names are counted.
    await this.rig.addNode();
    await this.rig.addNode();
    await this.rig.allReady(60_000);
    this.pages.consoleUrl = (await this.rig.leader()).consoleUrl;
  }

  #targets(): DiscoveredPort[] {
    const target = (pod: string, address: string, node = '') => ({
      address,
      port: 'metrics',
      app: 'rollcall',
      pod,
      node,
    });
    return [
      ...this.rig.coordinators.map(({ name, healthUrl }) => target(name, new URL(healthUrl).host)),
      target('surplus', `127.0.0.1:${this.#surplus.ports.listen}`),
      ...this.rig.nodes.map(({ name, healthUrl }) => target(`rollcall-agent-${name}`, new URL(healthUrl).host, name)),
    ];
  }

  async stop(): Promise<void> {
    await this.#prometheus?.stop();
    await this.#surplus.running?.destroy();
    await this.#embedded.stop();
    await this.pages.close();
    this.#receiver?.close();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** The CA that the first node's agent reads, and no other. */
  get ownCaFile(): string {
    return path.join(this.dir, 'ca.crt');
  }

  /** What the second node's agent reads. */
  get sysfs(): string {
    return path.join(this.dir, 'sys');
  }

  /** Lets a node's agent show the token of another's. */
  copyToken(from: SimulatedNode, to: SimulatedNode): Promise<void> {
    return copyFile(from.tokenFile, to.tokenFile);
  }

  file(name: string): string {
    return path.join(this.dir, name);
  }

  node(number: 1 | 2 | 3 | 4): SimulatedNode {
    return this.rig.node(number - 1);
  }

  agent(number: 1 | 2 | 3 | 4): Program {
    const { agent, name } = this.node(number);
    if (!agent) throw new Error(`No agent runs on ${name}`);
    return agent;
  }

  async standby(): Promise<Coordinator> {
    const leader = await this.rig.leader();
    const standby = this.rig.coordinators.find((each) => each !== leader);
    if (!standby) throw new Error('There is no standby');
    return standby;
  }

  /** Another installation of rollcall in the namespace, which Prometheus scrapes as well. */
  startSurplus(args: readonly string[]): Coordinator {
    const { ports } = this.#surplus;
    const kubeconfig = this.rig.cluster.coordinatorKubeconfig;
    const surplus = new Coordinator({ ports, kubeconfig, name: 'surplus', args });
    this.#surplus.running = surplus;
    return surplus;
  }

  get surplus(): Coordinator {
    if (!this.#surplus.running) throw new Error('No surplus coordinator runs');
    return this.#surplus.running;
  }

  /** Waits until Prometheus has seen the metrics of a pod as they are now. */
  async untilScraped(pod: string): Promise<void> {
    const now = Date.now() / 1000;
    const isSeen = async () => {
      const samples = await this.query(`timestamp(process_start_time_seconds{pod="${pod}"})`);
      return samples.some(({ value }) => Number(value[1]) > now);
    };
    await waitFor(`a scrape of ${pod}`, isSeen, PATIENCE);
  }

  query(expr: string): Promise<Sample[]> {
    return this.#prometheus.query(expr);
  }

  /** Series of the alert that meet its condition now, without its `for`. */
  async firing(alert: string, window = WINDOW): Promise<Record<string, string>[]> {
    const expr = ALERTS.find(({ name }) => name === alert)?.expr;
    if (expr === undefined) throw new Error(`There is no alert ${alert}`);
    return (await this.query(expr.replace(/\[\d+[mh]\]/g, `[${window}]`))).map(({ metric }) => metric);
  }

  async fires(alert: string, series: Record<string, string> = {}, window = WINDOW): Promise<void> {
    await waitFor(`${alert} to fire`, async () => (await this.firing(alert, window)).some(isLike(series)), PATIENCE);
  }

  async ends(alert: string, series: Record<string, string> = {}): Promise<void> {
    await waitFor(`${alert} to end`, async () => !(await this.firing(alert)).some(isLike(series)), PATIENCE);
  }

  /** Throws unless the page mentions the sight, and it is there. */
  async sees(runbook: string, sight: Sight): Promise<void> {
    const page = this.pages.text(runbook);
    const quote = quoted(sight);
    if (quote !== undefined && !page.includes(quote)) throw new Error(`${runbook} does not say ${quote}`);
    let last = '';
    const isThere = async () => {
      last = await this.#look(runbook, sight);
      return sight.says.test(last);
    };
    await waitFor(`${quote ?? sight.says} of ${runbook}`, isThere, PATIENCE).catch((error: unknown) => {
      throw new Error(`What was seen at last does not match ${sight.says}:\n${last}`, { cause: error });
    });
  }

  async #look(runbook: string, sight: Sight): Promise<string> {
    if ('log' in sight) {
      const { logs } = await sight.of();
      return logs
        .filter(({ msg }) => msg === sight.log)
        .map((line) => JSON.stringify(line))
        .join('\n');
    }
    if ('event' in sight) {
      const events = await this.controlPlane.api.list<StoredEvent>('/api/v1/events');
      return events
        .filter(({ reason, involvedObject }) => reason === sight.event && involvedObject.name === sight.about)
        .map(({ message }) => message)
        .join('\n');
    }
    if ('query' in sight) return JSON.stringify(await this.query(sight.query.replace(/\[5m\]/g, `[${WINDOW}]`)));
    if ('get' in sight) return (await httpGet(`${await sight.at()}${sight.get}`)).body;
    const command = this.pages.command(runbook, sight.run);
    if (command.startsWith('kubectl rollcall')) this.pages.consoleUrl = (await this.rig.leader()).consoleUrl;
    const { out, err } = await this.pages.run(command, sight.names);
    return `${out}${err}`;
  }
}

function quoted(sight: Sight): string | undefined {
  if ('log' in sight) return `"${sight.log}`;
  if ('event' in sight) return `\`${sight.event}\``;
  if ('query' in sight) return `\`${sight.query}\``;
  return 'get' in sight ? sight.get : undefined;
}

function isLike(series: Record<string, string>): (metric: Record<string, string>) => boolean {
  return (metric) => Object.entries(series).every(([label, value]) => metric[label] === value);
}
