import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ApiClient } from '../control-plane/api-client.ts';
import { createNode, createPod } from '../control-plane/cluster.ts';
import { freePort } from '../control-plane/ports.ts';
import { agentServiceAccount, ownNamespace, requestAgentToken } from '../control-plane/rbac.ts';
import { type StandIn, type StandInKind, startStandIn } from '../stand-ins/stand-in.ts';
import { type LogLine, Program } from './program.ts';

export type SimulatedNodeOptions = {
  api: ApiClient;
  name: string;
  /** Loopback address of this node alone. */
  address: string;
  wsDaemonPort: number;
  registryFacadePort: number;
  coordinatorUrls: readonly string[];
  caFile: string;
  /** Where its token file is kept. */
  dir: string;
  labels?: Record<string, string>;
  /** The hardware that its agent sees; none unless told, as what the machine of the test has is not known. */
  sysfsRoot?: string;
  agentArgs?: readonly string[];
  /** Namespace of the services' pods; `default` unless told. */
  namespace?: string;
  onAgentLog?: (line: LogLine) => void;
};

/** A Node with the pods of both services and of the agent, the processes that these pods would run, and no kubelet. */
export class SimulatedNode {
  readonly name: string;
  readonly address: string;
  readonly listenPort: number;
  readonly #options: SimulatedNodeOptions;
  readonly #standIns = new Map<StandInKind, StandIn>();
  agent: Program | undefined;
  agentPod: { name: string; uid: string } | undefined;

  private constructor(options: SimulatedNodeOptions, listenPort: number) {
    this.#options = options;
    this.name = options.name;
    this.address = options.address;
    this.listenPort = listenPort;
  }

  /** Creates the objects and starts the services, but not the agent. */
  static async create(options: SimulatedNodeOptions): Promise<SimulatedNode> {
    const node = new SimulatedNode(options, await freePort());
    const { api, name, address, labels } = options;
    await mkdir(node.#emptySysfs, { recursive: true });
    await createNode(api, name, { internalIP: address, ...(labels ? { labels } : {}) });
    await Promise.all([node.revive('ws-daemon'), node.revive('registry-facade')]);
    for (const component of ['ws-daemon', 'registry-facade']) {
      await createPod(api, {
        namespace: options.namespace ?? 'default',
        name: `${component}-${name}`,
        nodeName: name,
        labels: { component },
        ready: true,
        podIP: address,
        hostIP: address,
      });
    }
    const pod = await createPod(api, {
      namespace: ownNamespace,
      name: `rollcall-agent-${name}`,
      nodeName: name,
      serviceAccount: agentServiceAccount,
      ready: true,
      podIP: address,
      hostIP: address,
    });
    node.agentPod = { name: pod.metadata.name, uid: pod.metadata.uid ?? '' };
    await writeFile(node.tokenFile, await requestAgentToken(api, node.agentPod));
    return node;
  }

  /** Of a machine with no bus at all. */
  get #emptySysfs(): string {
    return join(this.#options.dir, 'no-hardware', 'bus');
  }

  get tokenFile(): string {
    return join(this.#options.dir, `${this.name}.token`);
  }

  get healthUrl(): string {
    return `http://${this.address}:${this.listenPort}`;
  }

  startAgent(args: readonly string[] = []): Program {
    const { coordinatorUrls, caFile, address, agentArgs = [], onAgentLog } = this.#options;
    this.agent = new Program('agent', {
      args: [
        `--node-name=${this.name}`,
        `--host-ip=${address}`,
        `--coordinator-url=${coordinatorUrls.join(',')}`,
        `--coordinator-ca-file=${caFile}`,
        `--token-file=${this.tokenFile}`,
        `--listen=${address}:${this.listenPort}`,
        `--ws-daemon-port=${this.#options.wsDaemonPort}`,
        `--registry-facade-port=${this.#options.registryFacadePort}`,
        `--sysfs-root=${this.#options.sysfsRoot ?? dirname(this.#emptySysfs)}`,
        ...agentArgs,
        ...args,
      ],
      env: { POD_NAMESPACE: ownNamespace },
      ...(onAgentLog ? { onLog: onAgentLog } : {}),
    });
    return this.agent;
  }

  service(kind: StandInKind): StandIn {
    const standIn = this.#standIns.get(kind);
    if (!standIn) throw new Error(`${kind} does not run on ${this.name}`);
    return standIn;
  }

  runs(kind: StandInKind): boolean {
    return this.#standIns.has(kind);
  }

  /** Kills the process without grace, as the kernel does when memory runs out. Its pod stays Ready. */
  async kill(kind: StandInKind): Promise<void> {
    const standIn = this.service(kind);
    this.#standIns.delete(kind);
    await standIn.kill('SIGKILL');
  }

  async revive(kind: StandInKind): Promise<void> {
    if (this.runs(kind)) return;
    const port = kind === 'ws-daemon' ? this.#options.wsDaemonPort : this.#options.registryFacadePort;
    this.#standIns.set(kind, await startStandIn(kind, { host: this.address, port }));
  }

  async stop(): Promise<void> {
    await this.agent?.destroy();
    await Promise.all([...this.#standIns.values()].map((standIn) => standIn.stop()));
  }
}
