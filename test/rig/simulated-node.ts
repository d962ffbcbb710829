import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ApiClient } from '../control-plane/api-client.ts';
import { createCertificateAuthority } from '../control-plane/certificates.ts';
import { createNode, createPod } from '../control-plane/cluster.ts';
import { freePort } from '../control-plane/ports.ts';
import { agentServiceAccount, ownNamespace, requestAgentToken } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { type StandIn, type StandInKind, startStandIn } from '../stand-ins/stand-in.ts';
import { httpGet } from './http-get.ts';
import { type LogLine, Program, type ProgramOptions } from './program.ts';

export type SimulatedNodeOptions = {
  api: ApiClient;
  name: string;
  /** Loopback address of this node alone. */
  address: string;
  /** Loopback address of its pods, as the pod network gives them one; ws-daemon listens there and nowhere else. */
  podAddress: string;
  wsDaemonPort: number;
  registryFacadePort: number;
  coordinatorUrls: readonly string[];
  caFile: string;
  /** Where its token file is kept. */
  dir: string;
  labels?: Record<string, string>;
  /** The hardware that its agent sees; defaults to none, as what the machine of the test has is not known. */
  sysfsRoot?: string;
  agentArgs?: readonly string[];
  /** Namespace of the services' pods; defaults to `default`. */
  namespace?: string;
  /** How its agent's process is started, besides its flags. */
  agentProcess?: Pick<ProgramOptions, 'nodeArgs' | 'env' | 'logFile'>;
  onAgentLog?: (line: LogLine) => void;
};

/** Flags of registry-facade by the directory of the files. */
const servingArgs = new Map<string, Promise<string[]>>();

/** A Node with the pods of both services and of the agent, the processes that these pods would run, and no kubelet. */
export class SimulatedNode {
  readonly name: string;
  readonly address: string;
  readonly podAddress: string;
  readonly listenPort: number;
  readonly #options: SimulatedNodeOptions;
  readonly #standIns = new Map<StandInKind, StandIn>();
  agent: Program | undefined;
  #secondAgent: Program | undefined;
  #replacements = 0;
  agentPod: { name: string; uid: string } | undefined;

  private constructor(options: SimulatedNodeOptions, listenPort: number) {
    this.#options = options;
    this.name = options.name;
    this.address = options.address;
    this.podAddress = options.podAddress;
    this.listenPort = listenPort;
  }

  /** Creates the objects and starts the services, but not the agent. */
  static async create(options: SimulatedNodeOptions): Promise<SimulatedNode> {
    const node = new SimulatedNode(options, await freePort());
    const { api, name, address, podAddress, labels } = options;
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
        podIP: podAddress,
        hostIP: address,
      });
    }
    node.agentPod = await node.#createAgentPod(`rollcall-agent-${name}`, node.tokenFile);
    return node;
  }

  async #createAgentPod(podName: string, tokenFile: string): Promise<{ name: string; uid: string }> {
    const { api, address, podAddress } = this.#options;
    const { metadata } = await createPod(api, {
      namespace: ownNamespace,
      name: podName,
      nodeName: this.name,
      serviceAccount: agentServiceAccount,
      ready: true,
      podIP: podAddress,
      hostIP: address,
    });
    const pod = { name: metadata.name, uid: metadata.uid ?? '' };
    await writeFile(tokenFile, await requestAgentToken(api, pod));
    return pod;
  }

  /** Root of sysfs on a machine without any bus. */
  get #emptySysfs(): string {
    return join(this.#options.dir, 'no-hardware', 'bus');
  }

  get tokenFile(): string {
    return join(this.#options.dir, `${this.name}.token`);
  }

  get healthUrl(): string {
    return `http://${hostOf(this.address)}:${this.listenPort}`;
  }

  startAgent(args: readonly string[] = [], root?: string, logFile?: string): Program {
    this.agent = this.#runAgent(this.tokenFile, this.listenPort, args, root, logFile);
    return this.agent;
  }

  /**
   * Replaces the agent as a DaemonSet with surge does: one of the tree `root` in a pod of its own, and the one before is
   * stopped when that is ready.
   */
  async replaceAgent(root?: string): Promise<void> {
    const before = { agent: this.agent, pod: this.agentPod };
    const name = `rollcall-agent-${this.name}-${++this.#replacements}`;
    const tokenFile = `${this.tokenFile}-${this.#replacements}`;
    this.agentPod = await this.#createAgentPod(name, tokenFile);
    const port = await freePort();
    this.agent = this.#runAgent(tokenFile, port, [], root);
    const isReady = async () => (await httpGet(`http://${hostOf(this.address)}:${port}/readyz`)).status === 200;
    await waitFor(`the agent ${name}`, isReady, { timeoutMs: 60_000 });
    await before.agent?.kill('SIGTERM');
    const pod = `/api/v1/namespaces/${ownNamespace}/pods/${before.pod?.name}`;
    await this.#options.api.delete(pod, { gracePeriodSeconds: 0 });
  }

  /** A second agent beside the first, of a pod of its own, as while a DaemonSet with surge is updated. */
  async startSecondAgent(): Promise<{ agent: Program; podName: string }> {
    const podName = `rollcall-agent-${this.name}-2`;
    const tokenFile = `${this.tokenFile}-2`;
    await this.#createAgentPod(podName, tokenFile);
    this.#secondAgent = this.#runAgent(tokenFile, await freePort());
    return { agent: this.#secondAgent, podName };
  }

  /** A new token, as its kubelet brings one before the old one expires. */
  async renewToken(): Promise<void> {
    if (!this.agentPod) throw new Error(`${this.name} has no agent's pod`);
    await writeFile(this.tokenFile, await requestAgentToken(this.#options.api, this.agentPod));
  }

  #runAgent(
    tokenFile: string,
    listenPort: number,
    args: readonly string[] = [],
    root?: string,
    logFile?: string,
  ): Program {
    const { coordinatorUrls, caFile, address, agentArgs = [], agentProcess, onAgentLog } = this.#options;
    return new Program('agent', {
      args: [
        `--node-name=${this.name}`,
        `--host-ip=${address}`,
        `--coordinator-url=${coordinatorUrls.join(',')}`,
        `--coordinator-ca-file=${caFile}`,
        `--token-file=${tokenFile}`,
        `--listen=${hostOf(address)}:${listenPort}`,
        `--sysfs-root=${this.#options.sysfsRoot ?? dirname(this.#emptySysfs)}`,
        ...agentArgs,
        ...args,
      ],
      ...agentProcess,
      ...(logFile === undefined ? {} : { logFile }),
      env: { POD_NAMESPACE: ownNamespace, ...agentProcess?.env },
      root,
      ...(onAgentLog ? { onLog: onAgentLog } : {}),
    });
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
    const { wsDaemonPort, registryFacadePort } = this.#options;
    const options =
      kind === 'ws-daemon'
        ? { host: this.podAddress, port: wsDaemonPort }
        : { host: this.address, port: registryFacadePort, args: await this.#servingArgs() };
    this.#standIns.set(kind, await startStandIn(kind, options));
  }

  /** One certificate serves every registry-facade below `dir`: to make its own is half of what the start of one costs. */
  #servingArgs(): Promise<string[]> {
    const { dir } = this.#options;
    const args = servingArgs.get(dir) ?? writeServingFiles(dir);
    servingArgs.set(dir, args);
    return args;
  }

  async stop(): Promise<void> {
    await this.agent?.destroy();
    await this.#secondAgent?.destroy();
    await Promise.all([...this.#standIns.values()].map((standIn) => standIn.stop()));
  }
}

async function writeServingFiles(dir: string): Promise<string[]> {
  const authority = await createCertificateAuthority('registry-facade throwaway CA');
  const { cert, key } = await authority.issue({ commonName: 'registry-facade' });
  const [certFile, keyFile] = [join(dir, 'registry-facade.crt'), join(dir, 'registry-facade.key')];
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key, { mode: 0o600 })]);
  return [`--cert-file=${certFile}`, `--key-file=${keyFile}`];
}

/** An address as it stands before a port. */
function hostOf(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
