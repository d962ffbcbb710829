import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { COORDINATOR_V8_FLAGS } from '../../deploy/source/chart/coordinator-values.ts';
import { type ProgressStream, showProgress } from '../control-plane/progress.ts';
import { publishedCa } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../rig/cluster.ts';
import { Coordinator, type CoordinatorPorts, coordinatorPorts } from '../rig/coordinator.ts';
import { eachOf } from './each-of.ts';
import { Fleet } from './fleet.ts';
import { patchNode } from './patch-node.ts';
import { processUsage } from './process-usage.ts';
import { Profiler } from './profiler.ts';
import { ReadyNodes } from './ready-nodes.ts';

/** For all nodes to come to a state, and at least; a bench that takes longer has failed, not lost. */
const SETTLE_MS_A_NODE = 60;
const SETTLE_LEAST_MS = 300_000;
const STANDBY_READY_MS = 120_000;
const QUIET_MS = 1000;
const RELEASE_CONCURRENCY = 16;

type CoordinatorOptions = Partial<ConstructorParameters<typeof Coordinator>[0]>;

const STANDBY: CoordinatorOptions = { name: 'standby', nodeArgs: COORDINATOR_V8_FLAGS };

export type CpuMs = { coordinator: number; apiServer: number; etcd: number };

/** A control plane, one coordinator at a time, and a fleet: what the benches share. */
export class Lab {
  readonly cluster: EmbeddedCluster;
  readonly fleet: Fleet;
  readonly ready: ReadyNodes;
  readonly #ports: CoordinatorPorts;
  readonly #log: ProgressStream;
  /** PEM of the coordinators' CA. */
  readonly ca: string;
  readonly #profiler: Profiler | undefined;
  #coordinator: Coordinator | undefined;

  private constructor(
    cluster: EmbeddedCluster,
    { ports, ca, ...outputs }: { ports: CoordinatorPorts; ca: string; log: ProgressStream; profiles?: string },
  ) {
    this.cluster = cluster;
    this.ca = ca;
    this.#ports = ports;
    this.#log = outputs.log;
    this.#profiler = outputs.profiles === undefined ? undefined : new Profiler(outputs.profiles);
    this.fleet = new Fleet({ api: cluster.api, reportsUrls: [`https://127.0.0.1:${ports.reports}`], ca });
    this.ready = new ReadyNodes(cluster.api);
  }

  /** Progress goes to `log`, and profiles to a directory where there is one. */
  static async open(log: ProgressStream, profiles?: string): Promise<Lab> {
    const progress = showProgress(log, 'starting etcd and kube-apiserver');
    const cluster = await embeddedCluster();
    try {
      const ports = await coordinatorPorts();
      // A first leader publishes the CA that all who follow use.
      const first = startCoordinator(cluster, ports);
      const ca = await publishedCa(cluster.api);
      await first.kill('SIGTERM');
      return new Lab(cluster, { ports, ca, log, ...(profiles ? { profiles } : {}) });
    } catch (error) {
      await cluster.stop();
      throw error;
    } finally {
      progress.end();
    }
  }

  get coordinator(): Coordinator {
    if (!this.#coordinator) throw new Error('No coordinator leads');
    return this.#coordinator;
  }

  /** Shows that something long is going on. */
  async during<T>(text: string, act: (update: (text: string) => void) => Promise<T>): Promise<T> {
    const progress = showProgress(this.#log, text);
    try {
      return await act((more) => progress.update(`${text}: ${more}`));
    } finally {
      progress.end();
    }
  }

  /** Writes a profile of what the coordinator computes meanwhile, where profiles are asked for. */
  profiled<T>(name: string, act: () => Promise<T>): Promise<T> {
    return this.#profiler ? this.#profiler.during(this.coordinator.pid, name, act) : act();
  }

  /** Starts a coordinator, by default as the chart does; returns when it began to lead, in monotonic milliseconds. */
  async lead(args: readonly string[] = [], v8Flags: readonly string[] = COORDINATOR_V8_FLAGS): Promise<number> {
    await this.standDown();
    const { nodeArgs = [], env = {} } = this.#profiler?.start ?? {};
    const { coordinator, leading } = this.#begin(this.#ports, { args, nodeArgs: [...v8Flags, ...nodeArgs], env });
    this.#coordinator = coordinator;
    return leading;
  }

  /** Kills the leader beside a standby that is ready; returns when it was killed, and when the standby began to lead. */
  async failOver(): Promise<{ killedMs: number; leadMs: number }> {
    const ports = await coordinatorPorts();
    const { coordinator: standby, leading } = this.#begin(ports, STANDBY);
    try {
      await standby.ready({ timeoutMs: STANDBY_READY_MS });
      this.fleet.alsoReportTo(`https://127.0.0.1:${ports.reports}`);
    } catch (error) {
      await standby.destroy();
      throw error;
    }
    const killedMs = performance.now();
    await this.coordinator.kill('SIGKILL');
    this.#coordinator = standby;
    return { killedMs, leadMs: await leading };
  }

  /** `leading`: when it began to lead. */
  #begin(ports: CoordinatorPorts, options: CoordinatorOptions): { coordinator: Coordinator; leading: Promise<number> } {
    const { promise: leading, resolve, reject } = Promise.withResolvers<number>();
    const onLog = ({ msg }: { msg: string }) => {
      if (msg === 'Started leading') resolve(performance.now());
    };
    const coordinator = startCoordinator(this.cluster, ports, { ...options, onLog });
    leading.catch(() => {});
    void coordinator.exited().then(() => reject(new Error(`The coordinator ended:\n${coordinator.tail()}`)));
    return { coordinator, leading };
  }

  /** Starts another replica, which the caller ends. */
  async standby(): Promise<Coordinator> {
    return startCoordinator(this.cluster, await coordinatorPorts(), STANDBY);
  }

  /** Ends the coordinator in an orderly way, so that the next one need not wait for its Lease. */
  async standDown(): Promise<void> {
    this.fleet.silence();
    const coordinator = this.#coordinator;
    this.#coordinator = undefined;
    await coordinator?.kill('SIGTERM');
  }

  /** Milliseconds of CPU that each program has had. */
  async cpuMs(): Promise<CpuMs> {
    const { apiServerPid, etcdPid } = this.cluster.controlPlane;
    const of = async (pid: number | undefined) => (pid === undefined ? 0 : (await processUsage(pid)).cpuMs);
    return {
      coordinator: await of(this.#coordinator?.pid),
      apiServer: await of(apiServerPid),
      etcd: await of(etcdPid),
    };
  }

  /** Waits until all nodes have so many of the two labels; returns when the last came to it. */
  settled(labels: 0 | 1 | 2, names: readonly string[] = this.fleet.names): Promise<number> {
    return this.ready.until(names, labels, settleMs(names.length));
  }

  /** Sees to a fleet of at least this size. */
  async grow(nodes: number): Promise<void> {
    const names = namesBeyond(this.fleet.names.length, nodes);
    if (names.length === 0) return;
    await this.during(`creating ${names.length} nodes`, async (update) => {
      await this.fleet.create(names, (_, done) => update(`${done}`));
    });
  }

  /** Sees to a coordinator that leads a fleet of at least this size, every node of which has its labels. */
  async labelled(nodes: number): Promise<void> {
    await this.grow(nodes);
    if (!this.#coordinator) await this.lead();
    await this.fleet.report(this.fleet.names, { ready: true });
    await this.settled(2);
  }

  /** Takes from every node what rollcall applied; no coordinator leads meanwhile. */
  async unlabel(): Promise<void> {
    await eachOf(this.fleet.names, RELEASE_CONCURRENCY, (name) =>
      patchNode(this.cluster.api, { kind: 'apply', name, manager: FIELD_MANAGER, labels: {} }),
    );
    await this.settled(0);
  }

  /** The same as {@link nodePatches}, once the number has not changed for a second. */
  settledPatches(): Promise<number> {
    return this.#settledCount(() => this.nodePatches());
  }

  /** Waits until neither Nodes nor Events are written any more. */
  async quiet(): Promise<void> {
    await this.#settledCount(async () => (await this.nodePatches()) + (await this.eventWrites()));
  }

  async #settledCount(count: () => Promise<number>): Promise<number> {
    let last = -1;
    let changedMs = performance.now();
    await waitFor(
      'the writes to end',
      async () => {
        const now = await count();
        if (now !== last) changedMs = performance.now();
        last = now;
        return performance.now() - changedMs >= QUIET_MS;
      },
      { timeoutMs: settleMs(this.fleet.names.length), everyMs: 200 },
    );
    return last;
  }

  /** PATCHes of Nodes that the API server has counted since its start, applies included, status not. */
  async nodePatches(): Promise<number> {
    return (await this.nodeRequests('PATCH')) + (await this.nodeRequests('APPLY'));
  }

  /** Requests of one kind; `PATCH` is a merge patch or a JSON patch. */
  nodeRequests(verb: 'PATCH' | 'APPLY'): Promise<number> {
    return this.cluster.controlPlane.requestTotals({ verb, resource: 'nodes', subresource: '' });
  }

  /** TokenReviews, counted likewise. */
  tokenReviews(): Promise<number> {
    return this.cluster.controlPlane.requestTotals({ resource: 'tokenreviews' });
  }

  /** Events that were created or raised, counted likewise. */
  async eventWrites(): Promise<number> {
    const count = (verb: string) => this.cluster.controlPlane.requestTotals({ verb, resource: 'events' });
    return (await count('POST')) + (await count('PATCH'));
  }

  async stop(): Promise<void> {
    this.fleet.stop();
    this.ready.stop();
    await this.#coordinator?.destroy();
    await this.cluster.stop();
  }
}

function settleMs(nodes: number): number {
  return Math.max(SETTLE_LEAST_MS, SETTLE_MS_A_NODE * nodes);
}

/** Names for the nodes from `existing` to `wanted`. */
export function namesBeyond(existing: number, wanted: number): string[] {
  return Array.from({ length: Math.max(0, wanted - existing) }, (_, index) => `fleet-${existing + index + 1}`);
}

function startCoordinator(
  cluster: EmbeddedCluster,
  ports: CoordinatorPorts,
  more: CoordinatorOptions = {},
): Coordinator {
  return new Coordinator({ ports, kubeconfig: cluster.coordinatorKubeconfig, name: 'coordinator', ...more });
}

export async function spentSince(lab: Lab, before: CpuMs): Promise<CpuMs> {
  const after = await lab.cpuMs();
  return {
    coordinator: after.coordinator - before.coordinator,
    apiServer: after.apiServer - before.apiServer,
    etcd: after.etcd - before.etcd,
  };
}
