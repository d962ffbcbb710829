import path from 'node:path';
import { CHART, MANIFESTS } from '../../chart/render.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import type { NodeObject, PodObject } from '../../control-plane/cluster.ts';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { type WaitOptions, waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { ensureHelm, type Helm } from '../../helm/helm.ts';
import { httpGet } from '../../rig/http-get.ts';
import { LabelHistory } from '../../rig/label-history.ts';
import { type RealCluster, type RealClusterOptions, startRealCluster } from '../real-cluster.ts';
import { applyGitpodPods } from './gitpod-pods.ts';
import { buildProductImage, type ProductImage, repository } from './product-image.ts';

export const namespace = 'rollcall';
export const release = ['rollcall', CHART, '--namespace', namespace, '--values', '-'];
/** On a busy machine. */
export const soon: WaitOptions = { timeoutMs: 90_000, everyMs: 100 };

export type Component = 'agent' | 'coordinator';

export type ProductPod = PodObject & {
  status: { containerStatuses?: { restartCount: number; ready: boolean; image: string }[] };
};

const metricsPort = 8086;
const workloads = [
  ['daemonset', 'rollcall-agent'],
  ['deployment', 'rollcall-coordinator'],
] as const;

export interface ProductOptions extends RealClusterOptions {
  /** Where the build of the image keeps its downloads. */
  readonly imageCacheDir: string;
  /** Tags of the image, all with the same content. */
  readonly tags: readonly [string, ...string[]];
}

/**
 * Builds the image, starts a cluster whose nodes have it, and makes the namespace; stand-ins of Gitpod's components run
 * on every node. Everything is there but the product.
 * @throws {MissingInput} when the image cannot be built on this machine.
 */
export async function startProduct(options: ProductOptions): Promise<Product> {
  const { tags } = options;
  const helm = await ensureHelm();
  const image = await buildProductImage(options.imageCacheDir);
  const cluster = await startRealCluster(options);
  try {
    const archive = await image.write(path.join(cluster.dir, 'built'));
    for (const tag of tags) await cluster.importImage(archive, `${repository}:${tag}`);
    await cluster.kubectl(['apply', '-f', path.join(MANIFESTS, 'namespace.yaml')]);
    await applyGitpodPods(cluster, `${repository}:${tags[0]}`);
    return new Product(cluster, helm, image);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** A Node, and when it was so. */
interface SeenNode {
  /** Monotonic milliseconds (`performance.now`). */
  readonly atMs: number;
  readonly node: NodeObject;
}

/** The product on a cluster of real nodes. */
export class Product {
  readonly cluster: RealCluster;
  readonly helm: Helm;
  readonly image: ProductImage;
  readonly history: LabelHistory;
  /** Every version of every Node, as the API server told it. */
  readonly seen: SeenNode[] = [];
  readonly #stopWatching: () => void;

  constructor(cluster: RealCluster, helm: Helm, image: ProductImage) {
    this.cluster = cluster;
    this.helm = helm;
    this.image = image;
    this.history = new LabelHistory(cluster.api);
    this.#stopWatching = watchNodes(cluster.api, ({ object }) => {
      this.seen.push({ atMs: performance.now(), node: object as NodeObject });
    });
  }

  async stop(): Promise<void> {
    this.history.stop();
    this.#stopWatching();
    await this.cluster.stop();
  }

  /** Waits until both are rolled out, as kubectl sees it, and returns what it took in seconds. */
  async rolledOut(which: readonly (readonly [string, string])[] = workloads): Promise<number> {
    const startedMs = performance.now();
    const status = (kind: string, name: string) =>
      this.cluster.kubectl(['-n', namespace, 'rollout', 'status', kind, name, '--timeout=90s']);
    await Promise.all(which.map(([kind, name]) => status(kind, name)));
    return secondsSince(startedMs);
  }

  /** `kubectl rollout restart`, until all is new; in seconds. */
  async restart(component: Component): Promise<number> {
    const startedMs = performance.now();
    const which = workloads.filter(([, name]) => name === `rollcall-${component}`);
    for (const [kind, name] of which) await this.cluster.kubectl(['-n', namespace, 'rollout', 'restart', kind, name]);
    await this.rolledOut(which);
    return secondsSince(startedMs);
  }

  async pods(component: Component): Promise<ProductPod[]> {
    const selector = `labelSelector=app.kubernetes.io/component%3D${component}`;
    const pods = await this.cluster.api.list<ProductPod>(`/api/v1/namespaces/${namespace}/pods?${selector}`);
    return pods.filter(({ metadata }) => metadata['deletionTimestamp'] === undefined);
  }

  /** The agent of a node. @throws when there is none. */
  async agentOn(node: string): Promise<ProductPod> {
    const pod = (await this.pods('agent')).find(({ spec }) => spec.nodeName === node);
    if (pod === undefined) throw new Error(`${node} has no agent`);
    return pod;
  }

  /** The coordinator that leads. @throws when none does. */
  async leader(): Promise<ProductPod> {
    const lease = await this.cluster.api.get<KubeObject & { spec: { holderIdentity?: string } }>(
      `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/rollcall-coordinator`,
    );
    const holder = lease.spec.holderIdentity ?? '';
    const pod = (await this.pods('coordinator')).find(({ metadata }) => holder.startsWith(metadata.name));
    if (pod === undefined) throw new Error(`no pod is "${holder}", which leads`);
    return pod;
  }

  /** Sends a GET request to a pod of the product, as a kubelet or Prometheus does. */
  ask(pod: PodObject, question: '/healthz' | '/readyz' | '/metrics'): Promise<{ status: number; body: string }> {
    return httpGet(`http://${pod.status.podIP}:${metricsPort}${question}`);
  }

  async metric(pod: PodObject, name: string, filter: Readonly<Record<string, string>> = {}): Promise<number> {
    return sumSamples((await this.ask(pod, '/metrics')).body, name, filter);
  }

  node(name: string): Promise<NodeObject> {
    return this.cluster.api.get<NodeObject>(`/api/v1/nodes/${name}`);
  }

  /** Waits until a label is on, or off, every one of these nodes; in seconds. */
  async labelled(nodes: readonly string[], keys: readonly string[], value: string | undefined): Promise<number> {
    const startedMs = performance.now();
    for (const node of nodes) for (const key of keys) await this.history.until(node, key, value, soon.timeoutMs);
    return secondsSince(startedMs);
  }

  /** What the kubelet of a node reports of a pod's memory. */
  memoryOf(pod: PodObject): Promise<{ rss: number; workingSet: number }> {
    const summary = `/api/v1/nodes/${pod.spec.nodeName}/proxy/stats/summary`;
    const { name } = pod.metadata;
    const read = async () => {
      const { pods } = JSON.parse(await this.cluster.api.text('GET', summary)) as Summary;
      const memory = pods.find(({ podRef }) => podRef.name === name)?.containers?.[0]?.memory;
      return memory?.rssBytes ? { rss: memory.rssBytes, workingSet: memory.workingSetBytes } : undefined;
    };
    return waitFor(`the kubelet to report the memory of ${name}`, read, soon);
  }
}

interface Summary {
  pods: { podRef: { name: string }; containers?: { memory?: { rssBytes: number; workingSetBytes: number } }[] }[];
}

/** What others see of a node: its labels, annotations and taints, but for those that say how it is. */
export function marksOf({ metadata, spec, status }: NodeObject): object {
  const taints = (spec.taints ?? []).filter(({ key }) => !key.startsWith('node.kubernetes.io/'));
  // The kubelet's own have no prefix.
  const conditions = (status?.conditions ?? []).map(({ type }) => type).filter((type) => type.includes('/'));
  return { labels: metadata.labels, annotations: metadata.annotations, taints, conditions };
}

export function secondsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 100) / 10;
}

/** A NodePoolLabelSet for nodes with the label agentpool=`pool`. */
export function poolLabelSet(pool: string, labels: Readonly<Record<string, string>>): KubeObject {
  return {
    apiVersion: 'labels.banzaicloud.io/v1alpha1',
    kind: 'NodePoolLabelSet',
    metadata: { name: pool, namespace },
    spec: { labels },
  };
}

export const poolLabelSets = `/apis/labels.banzaicloud.io/v1alpha1/namespaces/${namespace}/nodepoollabelsets`;
