import { join } from 'node:path';
import { KARPENTER_POOL_LABEL, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { type ApiClient, ApiError, type KubeObject } from '../../control-plane/api-client.ts';
import { lastLines } from '../../control-plane/child.ts';
import {
  createPod,
  type NodeObject,
  type PodObject,
  removeNotReadyTaint,
  setNodeReady,
  setPodReady,
} from '../../control-plane/cluster.ts';
import type { Component } from '../../control-plane/component.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watch } from '../../control-plane/watch.ts';
import { startKarpenter } from '../../karpenter/karpenter.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { applyCrd } from '../services/node-services.ts';

const NODE_POOLS = '/apis/karpenter.sh/v1/nodepools';
const NODE_CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const NODE_CLASSES = '/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses';
const PODS = '/api/v1/namespaces/default/pods';
/** An instance type with two CPUs: one pod that requests more than one takes a node of its own. */
const INSTANCE = 'c-2x-amd64-linux';

export type NodeClaim = KubeObject & {
  status?: { nodeName?: string; conditions?: { type: string; status: string }[] };
};

/** A real Karpenter and kube-scheduler beside a coordinator that is behind the fence; kubelets are played. */
export class KarpenterStage {
  readonly cluster: EmbeddedCluster;
  rig!: Rig;
  #karpenter: Component | undefined;
  readonly #stops: (() => void)[] = [];

  private constructor(cluster: EmbeddedCluster) {
    this.cluster = cluster;
  }

  static async start(
    coordinatorArgs: readonly string[],
    startupTaints: readonly object[] = [{ key: STARTUP_TAINT, effect: 'NoSchedule' }],
  ): Promise<KarpenterStage> {
    const stage = new KarpenterStage(await embeddedCluster({}, { scheduler: true }));
    try {
      for (const plural of ['nodeservices', 'nodeholds'] as const) await applyCrd(stage.cluster.controlPlane, plural);
      stage.rig = await Rig.start({ cluster: stage.cluster, nodes: 0, coordinatorArgs });
      stage.#playKubelets();
      stage.#karpenter = await startKarpenter(stage.cluster.controlPlane);
      await stage.#createPool(startupTaints);
      return stage;
    } catch (error) {
      await stage.stop();
      throw error;
    }
  }

  get api(): ApiClient {
    return this.cluster.api;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.rig?.stop();
    await this.#karpenter?.kill('SIGKILL');
    await this.cluster.stop();
  }

  /** The last lines that Karpenter logged. */
  log(): Promise<string> {
    return lastLines(join(this.cluster.controlPlane.dir, 'karpenter.log'), 30);
  }

  /** A pool whose nodes come with these taints, and go as soon as nothing needs them. */
  async #createPool(startupTaints: readonly object[]): Promise<void> {
    await this.api.post(NODE_CLASSES, {
      apiVersion: 'karpenter.kwok.sh/v1alpha1',
      kind: 'KWOKNodeClass',
      metadata: { name: 'default' },
      spec: {},
    });
    const requirements = [
      { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [INSTANCE] },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    ];
    await this.api.post(NODE_POOLS, {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'default' },
      spec: {
        template: {
          spec: {
            requirements,
            startupTaints,
            nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
            expireAfter: 'Never',
          },
        },
        disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
      },
    });
  }

  /** Nodes become Ready, and pods that have a node run. */
  #playKubelets(): void {
    const nodes = watch(
      this.api,
      `/api/v1/nodes?labelSelector=${encodeURIComponent(KARPENTER_POOL_LABEL)}`,
      (event) => {
        const node = event.object as NodeObject;
        if (event.type === 'DELETED' || node.status.conditions?.some(({ type }) => type === 'Ready')) return;
        void this.#begin(node).catch(() => {});
      },
    );
    const pods = watch(this.api, PODS, ({ type, object }) => {
      const { spec, status, metadata } = object as PodObject;
      if (type === 'DELETED' || !spec.nodeName || status.phase !== 'Pending') return;
      void setPodReady(this.api, 'default', metadata.name, true).catch(() => {});
    });
    this.#stops.push(nodes, pods);
  }

  async #begin(node: NodeObject): Promise<void> {
    await removeNotReadyTaint(this.api, node);
    await setNodeReady(this.api, node.metadata.name, true);
  }

  /** A pod that takes a node of its own, and takes its time to end. */
  async pod(name: string, labels: Record<string, string> = {}): Promise<void> {
    const containers = [{ name: 'main', image: 'none', resources: { requests: { cpu: '1100m', memory: '64Mi' } } }];
    const spec = { containers, terminationGracePeriodSeconds: 600 };
    await createPod(this.api, { namespace: 'default', name, labels, spec });
  }

  /** The node of a pod, once it has one. */
  async nodeOf(pod: string): Promise<string> {
    const read = async () => (await this.api.get<PodObject>(`${PODS}/${pod}`)).spec.nodeName;
    const node = await waitFor(`${pod} to have a node`, read, { timeoutMs: 90_000 }).catch(async (cause: unknown) => {
      throw new Error(`There was no node for ${pod}; Karpenter said\n${await this.log()}`, { cause });
    });
    return node ?? '';
  }

  claims(): Promise<NodeClaim[]> {
    return this.api.list<NodeClaim>(NODE_CLAIMS);
  }

  /** The status of a condition of the NodeClaim of a node. */
  async claimIs(node: string, type: string): Promise<string | undefined> {
    const claim = (await this.claims()).find(({ status }) => status?.nodeName === node);
    return claim?.status?.conditions?.find((each) => each.type === type)?.status;
  }

  /** Karpenter has begun to remove the node, or has removed it. */
  async isGoing(node: string): Promise<boolean> {
    const claim = (await this.claims()).find(({ status }) => status?.nodeName === node);
    return claim === undefined || claim.metadata['deletionTimestamp'] !== undefined;
  }

  /** Begins to delete a pod, which goes on until it is ended. */
  async beginToEnd(pod: string): Promise<void> {
    await this.api.delete(`${PODS}/${pod}`);
  }

  async end(pod: string): Promise<void> {
    await this.api.delete(`${PODS}/${pod}`, { gracePeriodSeconds: 0 }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    });
  }

  async taintsOf(node: string): Promise<string[]> {
    return ((await this.api.get<NodeObject>(`/api/v1/nodes/${node}`)).spec.taints ?? []).map(({ key }) => key);
  }
}
