import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CA_CONFIG_MAP_NAME, coordinatorServerName, SERVICE_LABEL_PREFIX } from '@rollcall/common/well-known.ts';
import { AGENT_V8_FLAGS } from '../../deploy/source/chart/agent-values.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import { removeDirOnExit } from '../control-plane/child.ts';
import { freePort, loopbackNetwork } from '../control-plane/ports.ts';
import { ownNamespace, publishedCa } from '../control-plane/rbac.ts';
import { NODE_SERVICES, nodeService } from '../e2e/services/node-services.ts';
import { Coordinator, type CoordinatorPorts, coordinatorPorts } from '../rig/coordinator.ts';
import { SimulatedNode } from '../rig/simulated-node.ts';
import { Fleet } from '../scale/fleet.ts';
import { REAL_LABEL, type SoakCluster, WEB_PORT } from './cluster.ts';
import { LogPipe } from './log-pipe.ts';
import { FleetNode, KubeletNode, ProcessNode, type SoakNode } from './nodes.ts';

const INSIDE_SOURCE = path.join(import.meta.dirname, 'inside/main.ts');
const INSIDE = 'inside.mjs';
/** The shortest that the API server gives. */
const TOKEN_SECONDS = 600;
const _CA = `/api/v1/namespaces/${ownNamespace}/configmaps/${CA_CONFIG_MAP_NAME}`;
const CA_EVERY_MS = 5000;
const TOKENS_EVERY_MS = 60_000;
/** So many of the agents have a new token each time: each has one in 6 minutes. */
const TOKENS_SHARE = 6;

/** One of two replicas: the process that has its place now. */
export class Replica {
  readonly name: string;
  readonly #options: Omit<ConstructorParameters<typeof Coordinator>[0], 'logFile'>;
  readonly #logFile: string;
  program: Coordinator;

  constructor(options: Omit<ConstructorParameters<typeof Coordinator>[0], 'logFile'>, logFile: string) {
    this.name = options.name;
    this.#options = options;
    this.#logFile = logFile;
    this.program = new Coordinator({ ...options, logFile });
  }

  start(logFile = this.#logFile): void {
    this.program = new Coordinator({ ...this.#options, logFile });
  }
}

/**
 * Everything that the soak does things to. Of two replicas, and of two agents that are processes of this machine, the
 * first lives to the end, so that one sees whether it grows: it is stopped and goes on, but not ended.
 */
export class Stage {
  readonly cluster: SoakCluster;
  readonly api: ApiClient;
  readonly dir: string;
  readonly replicas: [Replica, Replica];
  readonly pipes: readonly LogPipe[];
  readonly fleet: Fleet;
  readonly fleetNodes: readonly FleetNode[];
  readonly processNodes: readonly [ProcessNode, ProcessNode];
  readonly kubeletNodes: readonly KubeletNode[];
  readonly #timers: NodeJS.Timeout[];
  #turn = 0;

  private constructor(parts: Pick<Stage, 'cluster' | 'dir' | 'replicas' | 'pipes' | 'fleet' | 'processNodes'> & Ports) {
    this.cluster = parts.cluster;
    this.api = parts.cluster.api;
    this.dir = parts.dir;
    this.replicas = parts.replicas;
    this.pipes = parts.pipes;
    this.fleet = parts.fleet;
    this.processNodes = parts.processNodes;
    this.fleetNodes = this.fleet.names.map((name) => new FleetNode(name, this.fleet));
    this.kubeletNodes = this.cluster.realNodes.map((node) => new KubeletNode(node, parts.mirrorPort, this.api));
    const quietly = (work: () => Promise<void>) => () => void work().catch(() => {});
    this.#timers = [
      setInterval(
        quietly(() => this.#followCa()),
        CA_EVERY_MS,
      ),
      setInterval(
        quietly(() => this.renewTokens(TOKENS_SHARE)),
        TOKENS_EVERY_MS,
      ),
    ];
  }

  static async open(cluster: SoakCluster, fleetSize: number): Promise<Stage> {
    const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-soak-'));
    removeDirOnExit(dir);
    // Agents run without what Node.js reads TypeScript with.
    await writeFile(path.join(dir, INSIDE), stripTypeScriptTypes(await readFile(INSIDE_SOURCE, 'utf8')));
    const { api, host } = cluster;
    const pipes = [await LogPipe.open(path.join(dir, 'coordinator-1')), await LogPipe.open(path.join(dir, 'agent-1'))];
    const mirrorPort = await freePort();
    const gitpodPorts = { wsDaemonPort: await freePort(), registryFacadePort: await freePort() };
    const replica = async (number: number, logFile: string) => {
      const ports = await coordinatorPorts();
      return new Replica(replicaOptions(cluster, dir, `coordinator-${number}`, ports, gitpodPorts), logFile);
    };
    const replicas: [Replica, Replica] = [
      await replica(1, path.join(dir, 'coordinator-1')),
      await replica(2, path.join(dir, 'coordinator-2.log')),
    ];
    const reportsUrls = replicas.map(({ program }) => `https://${host}:${program.ports.reports}`);
    const caFile = path.join(dir, 'ca.crt');
    const ca = await publishedCa(api, 60_000);
    await writeFile(caFile, ca);
    await createServices(cluster, mirrorPort);
    await cluster.startPods(reportsUrls);

    const serverName = coordinatorServerName(ownNamespace);
    const fleet = new Fleet({ api, reportsUrls, ca, serverName, ownConnections: true, tokenSeconds: TOKEN_SECONDS });
    await fleet.join(Array.from({ length: fleetSize }, (_, index) => `fleet-${index + 1}`));
    const network = await loopbackNetwork();
    const processNode = async (number: number, logFile: string) => {
      const node = await SimulatedNode.create({
        ...{ api, dir, caFile, ...gitpodPorts, coordinatorUrls: reportsUrls, name: `process-${number}` },
        ...{ address: `${network}.${number}`, podAddress: `${network}.${number + 100}` },
        agentProcess: { ...inside(dir, `agent-${number}`, AGENT_V8_FLAGS), logFile },
      });
      node.startAgent();
      return new ProcessNode(node, mirrorPort);
    };
    const processNodes = [
      await processNode(1, path.join(dir, 'agent-1')),
      await processNode(2, path.join(dir, 'agent-2.log')),
    ] as const;
    const stage = new Stage({ cluster, dir, replicas, pipes, fleet, processNodes, mirrorPort });
    for (const node of stage.nodes) await node.mend();
    return stage;
  }

  get nodes(): readonly SoakNode[] {
    return [...this.fleetNodes, ...this.processNodes, ...this.kubeletNodes];
  }

  /** The replica that leads, where one does. */
  async leader(): Promise<Replica | undefined> {
    const leads = await Promise.all(
      this.replicas.map(({ program }) => Promise.race([program.leads(), silence(2000, false)])),
    );
    return this.replicas[leads.indexOf(true)];
  }

  /** New tokens for every `share`th of the agents, by turns. */
  async renewTokens(share: number): Promise<void> {
    const turn = this.#turn++ % share;
    for (const [index, { name, isSilent }] of this.fleetNodes.entries())
      if (index % share === turn && !isSilent) await this.fleet.renewToken(name);
    for (const { node } of this.processNodes) await node.renewToken();
  }

  async #followCa(): Promise<void> {
    const ca = await publishedCa(this.api);
    if (ca === this.fleet.ca) return;
    await writeFile(path.join(this.dir, 'ca.crt'), ca);
    this.fleet.trust(ca);
  }

  /** Ends every process, and removes every file. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.fleet.stop();
    await Promise.all([...this.processNodes, ...this.kubeletNodes].map((node) => node.stop()));
    await Promise.all(this.replicas.map(({ program }) => program.destroy()));
    for (const pipe of this.pipes) pipe.close();
    await rm(this.dir, { recursive: true, force: true });
  }
}

type Ports = { mirrorPort: number };

function replicaOptions(
  { coordinatorKubeconfig: kubeconfig, host }: SoakCluster,
  dir: string,
  name: string,
  ports: CoordinatorPorts,
  { wsDaemonPort, registryFacadePort }: { wsDaemonPort: number; registryFacadePort: number },
) {
  const args = [`--ws-daemon-port=${wsDaemonPort}`, `--registry-facade-port=${registryFacadePort}`];
  return { kubeconfig, host, name, ports, args, ...inside(dir, name) };
}

/** How a program is started that can be asked and whose clock can be stepped. */
function inside(dir: string, name: string, flags: readonly string[] = []) {
  return {
    nodeArgs: [...flags, `--import=${path.join(dir, INSIDE)}`],
    env: { SOAK_SOCKET: path.join(dir, `${name}.sock`) },
  };
}

async function createServices({ api, realNodes }: SoakCluster, mirrorPort: number): Promise<void> {
  const publish = (name: string) => ({
    label: `${SERVICE_LABEL_PREFIX}${name}`,
    taint: { key: `readiness.k8s.io/${name}`, effect: 'NoSchedule', maxUnavailable: '100%' },
    condition: `${SERVICE_LABEL_PREFIX}${name}`,
  });
  const probe = (port: number) => ({ name: 'port', http: { port, path: '/healthz' } });
  await api.post(NODE_SERVICES, nodeService('mirror', { checks: [probe(mirrorPort)], publish: publish('mirror') }));
  if (realNodes.length === 0) return;
  const web = {
    nodeSelector: { matchLabels: { [REAL_LABEL]: 'true' } },
    checks: [
      { name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { component: 'web' } } } },
      probe(WEB_PORT),
    ],
    publish: publish('web'),
  };
  await api.post(NODE_SERVICES, nodeService('web', web));
}

function silence<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value).unref());
}
