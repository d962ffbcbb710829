import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readyLabel } from '@rollcall/common/well-known.ts';
import { removeDirOnExit } from '../control-plane/child.ts';
import { freePort, loopbackNetwork } from '../control-plane/ports.ts';
import { publishedCa } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import type { StandInKind } from '../stand-ins/stand-in.ts';
import type { RigCluster } from './cluster.ts';
import { Coordinator, type CoordinatorPorts, coordinatorPorts } from './coordinator.ts';
import { LabelHistory } from './label-history.ts';
import type { LogLine } from './program.ts';
import { ProgramClock } from './program-clock.ts';
import { SimulatedNode, type SimulatedNodeOptions } from './simulated-node.ts';

export type RigOptions = {
  cluster: RigCluster;
  nodes: number;
  /** Defaults to 1. */
  coordinators?: number;
  coordinatorArgs?: readonly string[];
  /**
   * How many seconds pass for the programs in a real one; defaults to 1. For leases, back-offs and graces that have no
   * flag. Windows that are given by a flag become shorter as well; probes keep their pace, unless flags say otherwise.
   */
  clockSpeed?: number;
  /** How a coordinator's process is started, besides its flags. */
  coordinatorProcess?: { nodeArgs: readonly string[] };
  /** Root of the tree whose programs are started; defaults to this repository. */
  root?: string;
  agentArgs?: readonly string[];
  /** Namespace of the services' pods, and in the label keys; defaults to `default`. */
  namespace?: string;
  onCoordinatorLog?: (coordinator: string, line: LogLine) => void;
};

type Setting = { dir: string; network: string; wsDaemonPort: number; registryFacadePort: number };

/** Coordinators and simulated nodes in a cluster, all real processes. */
export class Rig {
  readonly cluster: RigCluster;
  readonly coordinators: Coordinator[] = [];
  readonly nodes: SimulatedNode[] = [];
  readonly history: LabelHistory;
  readonly clock: ProgramClock;
  /** Root of the tree whose programs are started from now on; defaults to this repository. */
  root: string | undefined;
  readonly #options: RigOptions;
  readonly #setting: Setting;
  readonly #freePorts: CoordinatorPorts[] = [];
  readonly #coordinatorUrls: string[] = [];
  #coordinatorsStarted = 0;
  #nodesStarted = 0;

  private constructor(options: RigOptions, setting: Setting) {
    this.#options = options;
    this.#setting = setting;
    this.cluster = options.cluster;
    this.root = options.root;
    this.history = new LabelHistory(options.cluster.api);
    this.clock = new ProgramClock(options.clockSpeed);
  }

  /** Starts everything and waits until a coordinator leads. The agents run; their labels are on the way. */
  static async start(options: RigOptions): Promise<Rig> {
    const dir = await mkdtemp(join(tmpdir(), 'rollcall-rig-'));
    removeDirOnExit(dir);
    const network = await loopbackNetwork();
    const rig = new Rig(options, {
      dir,
      network,
      wsDaemonPort: await freePort(),
      registryFacadePort: await freePort(),
    });
    try {
      for (let index = 0; index < (options.coordinators ?? 1); index += 1) await rig.addCoordinator();
      await rig.leader();
      // Without agents, no coordinator publishes it.
      if (!options.coordinatorArgs?.includes('--agents=false')) await rig.writeCa();
      await Promise.all(Array.from({ length: options.nodes }, () => rig.addNode()));
      return rig;
    } catch (error) {
      const logs = rig.coordinators.map((coordinator) => coordinator.tail()).join('\n');
      await rig.stop();
      throw new Error(`The rig did not start; the coordinators said:\n${logs}`, { cause: error });
    }
  }

  get caFile(): string {
    return join(this.#setting.dir, 'ca.crt');
  }

  readyLabel(service: StandInKind): string {
    return readyLabel(service, this.#options.namespace ?? 'default');
  }

  async addCoordinator(args: readonly string[] = []): Promise<Coordinator> {
    const name = `coordinator-${++this.#coordinatorsStarted}`;
    const { onCoordinatorLog, coordinatorProcess } = this.#options;
    const ports = this.#freePorts.shift() ?? (await this.#newPorts());
    const coordinator = new Coordinator({
      ports,
      root: this.root,
      kubeconfig: this.cluster.coordinatorKubeconfig,
      name,
      args: [
        `--namespace=${this.#options.namespace ?? 'default'}`,
        `--ws-daemon-port=${this.#setting.wsDaemonPort}`,
        `--registry-facade-port=${this.#setting.registryFacadePort}`,
        ...(this.#options.coordinatorArgs ?? []),
        ...args,
      ],
      nodeArgs: [...this.clock.nodeArgs, ...(coordinatorProcess?.nodeArgs ?? [])],
      ...(onCoordinatorLog ? { onLog: (line) => onCoordinatorLog(name, line) } : {}),
    });
    this.coordinators.push(coordinator);
    return coordinator;
  }

  async #newPorts(): Promise<CoordinatorPorts> {
    const ports = await coordinatorPorts();
    this.#coordinatorUrls.push(`https://127.0.0.1:${ports.reports}`);
    return ports;
  }

  /** The coordinator that leads, once there is one. */
  leader(timeoutMs = 30_000): Promise<Coordinator> {
    const find = async () => {
      for (const coordinator of this.coordinators) if (await coordinator.leads()) return coordinator;
      return undefined;
    };
    return waitFor('a coordinator to lead', find, { timeoutMs });
  }

  /** Ends a coordinator as told, and no longer counts it. Returns its exit code. */
  async endCoordinator(coordinator: Coordinator, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    this.coordinators.splice(this.coordinators.indexOf(coordinator), 1);
    const exitCode = await coordinator.kill(signal);
    this.#freePorts.push(coordinator.ports);
    return exitCode;
  }

  /** Removes everything that rollcall wrote, as its uninstallation does, after all coordinators have stopped. */
  async prune(args: readonly string[] = []): Promise<void> {
    await Promise.all([...this.coordinators].map((coordinator) => this.endCoordinator(coordinator, 'SIGTERM')));
    const pruner = await this.addCoordinator(['--prune', ...args]);
    const exitCode = await pruner.exited();
    await this.endCoordinator(pruner, 'SIGKILL');
    if (exitCode !== 0) throw new Error(`--prune ended with ${exitCode}:\n${pruner.tail()}`);
  }

  /** Copies the published CA to where the agents read it, as the kubelet does with a mounted ConfigMap. */
  async writeCa(): Promise<void> {
    await writeFile(this.caFile, await publishedCa(this.cluster.api));
  }

  /** Creates a node and starts its agent. */
  async addNode(change: Partial<SimulatedNodeOptions> = {}): Promise<SimulatedNode> {
    const number = ++this.#nodesStarted;
    const { agentArgs = [], namespace } = this.#options;
    const { agentProcess, ...changed } = change;
    const node = await SimulatedNode.create({
      api: this.cluster.api,
      name: `node-${number}`,
      address: `${this.#setting.network}.${number}`,
      podAddress: `${this.#setting.network}.${number + 100}`,
      ...this.#setting,
      coordinatorUrls: this.#coordinatorUrls,
      caFile: this.caFile,
      agentArgs: [...this.#probesInRealTime(), ...agentArgs],
      ...(namespace ? { namespace } : {}),
      ...changed,
      agentProcess: { ...agentProcess, nodeArgs: [...this.clock.nodeArgs, ...(agentProcess?.nodeArgs ?? [])] },
    });
    this.nodes.push(node);
    node.startAgent([], this.root);
    return node;
  }

  /** The flags of agents that probe once a second, and do not rest: services are not faster because their clock is. */
  #probesInRealTime(): string[] {
    const { speed } = this.clock;
    if (speed === 1) return [];
    return ['period', 'idle-period', 'timeout'].map((time) => `--probe-${time}-ms=${1000 * speed}`);
  }

  node(index: number): SimulatedNode {
    const node = this.nodes[index];
    if (!node) throw new Error(`The rig has no node ${index}`);
    return node;
  }

  /** Waits until every node has both labels. */
  async allReady(timeoutMs = 30_000): Promise<void> {
    for (const { name } of this.nodes) {
      await this.history.until(name, this.readyLabel('ws-daemon'), 'true', timeoutMs);
      await this.history.until(name, this.readyLabel('registry-facade'), 'true', timeoutMs);
    }
  }

  /** Ends every process and takes every directory away; the cluster stays. */
  async stop(): Promise<void> {
    this.history.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
    await Promise.all(this.coordinators.map((coordinator) => coordinator.destroy()));
    await rm(this.#setting.dir, { recursive: true, force: true });
  }
}
