import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import type { PodObject } from '../control-plane/cluster.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import type { RealNode } from '../real-node/node.ts';
import { httpGet } from '../rig/http-get.ts';
import type { SimulatedNode } from '../rig/simulated-node.ts';
import type { Fleet } from '../scale/fleet.ts';
import { type StandIn, type StandInKind, startStandIn } from '../stand-ins/stand-in.ts';
import { WEB_PORT } from './cluster.ts';

export type Service = StandInKind | 'mirror' | 'web';
const GITPOD: readonly StandInKind[] = [WS_DAEMON, REGISTRY_FACADE];
/** So long, whatever restarts meanwhile. */
export const PATIENT = { timeoutMs: 120_000, everyMs: 500 };

/** A node, what runs on it, and what is true of it. */
export interface SoakNode {
  readonly name: string;
  readonly kind: 'fleet' | 'process' | 'real';
  readonly services: readonly Service[];
  /** Not heard for so long that its silence counts. */
  isSilent: boolean;
  isUp(service: Service): boolean | Promise<boolean>;
  /** Puts a service out of order. Returns how. */
  fail(service: Service, random: () => number): Promise<string>;
  /** Everything is in order again. */
  mend(): Promise<void>;
}

function oneOf<T>(all: readonly T[], random: () => number): T {
  return all[Math.floor(random() * all.length)] as T;
}

/** A simulated node: the agent is an object in this process, and reports what the harness sets. */
export class FleetNode implements SoakNode {
  readonly kind = 'fleet';
  readonly services: readonly Service[] = [...GITPOD, 'mirror'];
  isSilent = false;
  readonly name: string;
  readonly #fleet: Fleet;
  readonly #down = new Map<Service, 'probe' | 'pod'>();

  constructor(name: string, fleet: Fleet) {
    this.name = name;
    this.#fleet = fleet;
  }

  isUp(service: Service): boolean {
    return !this.#down.has(service);
  }

  async fail(service: Service, random: () => number): Promise<string> {
    const how = service !== 'mirror' && random() < 0.4 ? 'pod' : 'probe';
    await this.#set([[service, how]], false);
    return how;
  }

  async mend(): Promise<void> {
    await this.#set([...this.#down], true);
  }

  async #set(services: readonly (readonly [Service, 'probe' | 'pod'])[], isUp: boolean): Promise<void> {
    for (const [service, how] of services) {
      if (isUp) this.#down.delete(service);
      else this.#down.set(service, how);
      if (how === 'pod') await waitFor('a pod', () => this.#setPod(service, isUp), PATIENT);
    }
    const seen = [...this.#down].filter(([, how]) => how === 'probe').map(([service]) => service);
    const agent = this.#fleet.agentOf(this.name);
    agent.see(seen.length === 0, undefined, seen);
    // A silent agent reports it later.
    if (!this.isSilent) void agent.report();
  }

  async #setPod(service: Service, isUp: boolean): Promise<true> {
    await this.#fleet.setPodReady(service, this.name, isUp);
    return true;
  }
}

/** A service that is a process. `faults` are those that its probe has to notice. */
class Process {
  readonly #start: () => Promise<StandIn>;
  readonly #faults: readonly string[];
  #standIn: StandIn | undefined;
  isUp = true;

  constructor(start: () => Promise<StandIn>, faults: readonly string[]) {
    this.#start = start;
    this.#faults = faults;
  }

  async fail(random: () => number): Promise<string> {
    const how = oneOf(['SIGKILL', ...this.#faults], random);
    this.isUp = false;
    if (how.startsWith('SIG')) await this.#standIn?.kill(how as NodeJS.Signals);
    else await this.#standIn?.fault(how);
    return how;
  }

  async mend(): Promise<void> {
    if (this.isUp && this.#standIn) return;
    await this.stop();
    this.#standIn = await this.#start();
    this.isUp = true;
  }

  async stop(): Promise<void> {
    await this.#standIn?.stop();
  }
}

/** What a probe over HTTP sees; one of a connection alone sees the first. */
const HTTP_FAULTS = ['refuse', 'SIGSTOP', 'hang', 'status 503', 'slow 5000', 'reset'];

/** An agent's process and a process for each service, with addresses on loopback. */
export class ProcessNode implements SoakNode {
  readonly kind = 'process';
  readonly services: readonly Service[] = [...GITPOD, 'mirror'];
  isSilent = false;
  readonly name: string;
  readonly node: SimulatedNode;
  readonly #mirror: Process;
  readonly #down = new Set<Service>();

  constructor(node: SimulatedNode, mirrorPort: number) {
    this.name = node.name;
    this.node = node;
    const where = { host: node.address, port: mirrorPort };
    this.#mirror = new Process(() => startStandIn('http-service', where), HTTP_FAULTS);
  }

  isUp(service: Service): boolean {
    return service === 'mirror' ? this.#mirror.isUp : !this.#down.has(service);
  }

  async fail(service: Service, random: () => number): Promise<string> {
    if (service === 'mirror') return this.#mirror.fail(random);
    const kind = service as StandInKind;
    const how = oneOf(
      kind === 'ws-daemon' ? ['SIGKILL', 'refuse'] : ['SIGKILL', 'refuse', 'hang', 'status 500'],
      random,
    );
    this.#down.add(service);
    if (how === 'SIGKILL') await this.node.kill(kind);
    else await this.node.service(kind).fault(how);
    return how;
  }

  async mend(): Promise<void> {
    await this.#mirror.mend();
    for (const service of this.#down) {
      const kind = service as StandInKind;
      if (this.node.runs(kind)) await this.node.kill(kind);
      await this.node.revive(kind);
      this.#down.delete(service);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.node.stop(), this.#mirror.stop()]);
  }
}

/** A kubelet, an agent in a pod, a service that is a process of the system, and one in a pod. */
export class KubeletNode implements SoakNode {
  readonly kind = 'real';
  readonly services: readonly Service[] = ['mirror', 'web'];
  isSilent = false;
  readonly name: string;
  readonly node: RealNode;
  readonly #api: ApiClient;
  readonly #mirror: Process;
  readonly #mirrorPort: number;

  constructor(node: RealNode, mirrorPort: number, api: ApiClient) {
    this.name = node.name;
    this.node = node;
    this.#api = api;
    this.#mirrorPort = mirrorPort;
    const where = { host: '0.0.0.0', port: mirrorPort, within: node.within };
    this.#mirror = new Process(() => startStandIn('http-service', where), HTTP_FAULTS);
  }

  /** Asks the service itself, and the API server about its pod. */
  async isUp(service: Service): Promise<boolean> {
    if (service === 'mirror') return answers(`http://${this.node.ip}:${this.#mirrorPort}/healthz`);
    const pods = await this.pods('default', 'component%3Dweb');
    const ready = pods.find(
      ({ metadata, status }) =>
        metadata['deletionTimestamp'] === undefined &&
        status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    );
    return ready !== undefined && answers(`http://${ready.status.podIP}:${WEB_PORT}/healthz`);
  }

  async fail(service: Service, random: () => number): Promise<string> {
    if (service === 'mirror') return this.#mirror.fail(random);
    const how = oneOf(['SIGKILL', 'SIGSTOP', 'deleted'], random);
    const [pod] = await this.pods('default', 'component%3Dweb').catch(() => []);
    if (how === 'deleted') await this.deletePod(pod);
    else await this.signal(pod, how as NodeJS.Signals);
    return how;
  }

  async mend(): Promise<void> {
    await this.#mirror.mend();
    for (const pod of await waitFor('pods', () => this.pods('default', 'component%3Dweb'), PATIENT))
      await this.signal(pod, 'SIGCONT');
  }

  agentPods(): Promise<PodObject[]> {
    return this.pods('rollcall', 'app.kubernetes.io/component%3Dagent');
  }

  pods(namespace: string, selector: string): Promise<PodObject[]> {
    const query = `labelSelector=${selector}&fieldSelector=spec.nodeName%3D${this.name}`;
    return this.#api.list<PodObject>(`/api/v1/namespaces/${namespace}/pods?${query}`);
  }

  async deletePod(pod: PodObject | undefined): Promise<void> {
    if (pod)
      await this.#api.delete(`/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`).catch(() => {});
  }

  async signal(pod: PodObject | undefined, signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.node.podProcesses(pod?.metadata.uid ?? '')) {
      try {
        process.kill(pid, signal);
      } catch {
        // It is gone.
      }
    }
  }

  async stop(): Promise<void> {
    await this.#mirror.stop();
  }
}

async function answers(url: string): Promise<boolean> {
  const silent = new Promise<boolean>((resolve) => setTimeout(resolve, 1000, false).unref());
  const asked = httpGet(url).then(
    ({ status }) => status === 200,
    () => false,
  );
  return Promise.race([asked, silent]);
}
