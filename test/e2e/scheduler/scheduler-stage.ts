import { type ApiClient, ApiError } from '../../control-plane/api-client.ts';
import { createPod, type PodObject, setPodReady } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watch } from '../../control-plane/watch.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { schedulerProfile } from '../../rig/scheduler-profile.ts';
import { ask } from './ask.ts';

const PODS = '/api/v1/namespaces/default/pods';

export const WORKSPACE_NODE = {
  'gitpod.io/workload_workspace_regular': 'true',
  'gitpod.io/workload_workspace_headless': 'true',
};

export type StageOptions = {
  /** Nodes with an agent and both services. */
  nodes: number;
  ignorable?: boolean;
  coordinators?: number;
  coordinatorArgs?: readonly string[];
  /** With a faster clock of the coordinators, kube-scheduler tries a pod again after 1 s, and not after up to 10 s. */
  clockSpeed?: number;
};

/** A real kube-scheduler with the configuration that is shipped, and coordinators that it asks. */
export class SchedulerStage {
  readonly cluster: EmbeddedCluster;
  readonly api: ApiClient;
  /** The port of the first coordinator and of its replacements. */
  readonly port: number;
  rig!: Rig;
  #stopKubelet: () => void = () => {};

  private constructor(cluster: EmbeddedCluster, port: number) {
    this.cluster = cluster;
    this.api = cluster.api;
    this.port = port;
  }

  static async start({
    nodes,
    ignorable = true,
    coordinatorArgs = [],
    clockSpeed = 1,
    ...options
  }: StageOptions): Promise<SchedulerStage> {
    const port = await freePort();
    const profile = (await schedulerProfile(port)).replace('ignorable: true', `ignorable: ${ignorable}`);
    const configYaml = clockSpeed === 1 ? profile : `${profile.trimEnd()}\npodMaxBackoffSeconds: 1\n`;
    const stage = new SchedulerStage(await embeddedCluster({}, { scheduler: { configYaml } }), port);
    try {
      const args = [`--scheduler-listen=127.0.0.1:${port}`, ...coordinatorArgs];
      const { coordinators = 1 } = options;
      stage.rig = await Rig.start({
        cluster: stage.cluster,
        nodes: 0,
        coordinators,
        coordinatorArgs: args,
        clockSpeed,
      });
      for (let index = 0; index < nodes; index += 1) await stage.rig.addNode({ labels: WORKSPACE_NODE });
      if (nodes > 0) await stage.rig.allReady();
      return stage;
    } catch (error) {
      await stage.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#stopKubelet();
    await this.rig?.stop();
    await this.cluster.stop();
  }

  /** Makes each workspace Ready as soon as it has a node, as a kubelet would some time later. */
  startKubelet(): void {
    this.#stopKubelet = watch(this.api, `${PODS}?labelSelector=component%3Dworkspace`, ({ type, object }) => {
      const { spec, status, metadata } = object as PodObject & { status?: { phase?: string } };
      if (type === 'DELETED' || !spec?.nodeName || status?.phase !== 'Pending') return;
      void setPodReady(this.api, 'default', metadata.name, true).catch(() => {});
    });
  }

  /** A pod that waits for kube-scheduler, as Gitpod makes them, but without node affinity: only the extender knows. */
  async workspace(name: string, labels: Record<string, string> = {}, spec: object = {}): Promise<void> {
    const kind = { component: 'workspace', workspaceType: 'regular', headless: 'false' };
    await this.pod(name, { ...kind, ...labels }, { schedulerName: 'gitpod-scheduler', ...spec });
  }

  async pod(name: string, labels: Record<string, string> = {}, spec: object = {}): Promise<void> {
    await createPod(this.api, { namespace: 'default', name, labels, spec: { ...spec } });
  }

  /** The node of a pod, once it has one. */
  async nodeOf(name: string, timeoutMs = 20_000): Promise<string> {
    const read = async () => (await this.api.get<PodObject>(`${PODS}/${name}`)).spec.nodeName;
    const node = await waitFor(`${name} to have a node`, read, { timeoutMs, everyMs: 10 });
    if (node === undefined) throw new Error(`${name} has no node`);
    return node;
  }

  /** Waits until kube-scheduler has said why a pod cannot go anywhere, and says it. */
  async untilRefused(name: string, timeoutMs = 20_000): Promise<string> {
    const read = async () => {
      const { status } = await this.api.get<PodObject>(`${PODS}/${name}`);
      const conditions = status.conditions as Condition[] | undefined;
      return conditions?.find(({ type, status: value }) => type === 'PodScheduled' && value === 'False')?.message;
    };
    return (await waitFor(`${name} to be refused`, read, { timeoutMs, everyMs: 10 })) ?? '';
  }

  /** Replaces the coordinator by one with further arguments; afterwards it answers. */
  async restart(args: readonly string[], signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM'): Promise<void> {
    await this.rig.endCoordinator(await this.rig.leader(), signal);
    await this.rig.addCoordinator(args);
    await this.#answers();
  }

  /** Waits for an answer about a pod that is placed: a leader gives none until a moment after it has the Lease. */
  async #answers(): Promise<void> {
    const labels = { component: 'workspace', app: 'build' };
    const pod = { metadata: { name: 'x', namespace: 'default', labels } };
    const question = { Pod: pod, Nodes: null, NodeNames: [] };
    const isAnswered = async () => (await ask(this.port, 'filter', question)).status === 200;
    await waitFor('the coordinator to answer', isAnswered, { timeoutMs: 30_000 });
  }

  /** Deletes every pod of the tests, but not the pods of the services. */
  async clear(kept = /^(ws-daemon|registry-facade)-/): Promise<void> {
    const pods = await this.api.list<PodObject>(PODS);
    const own = pods.filter(({ metadata }) => !kept.test(metadata.name));
    const remove = (name: string) =>
      this.api.delete(`${PODS}/${name}?gracePeriodSeconds=0`).catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
      });
    await Promise.all(own.map(({ metadata }) => remove(metadata.name)));
  }
}

type Condition = { type: string; status: string; message?: string };
