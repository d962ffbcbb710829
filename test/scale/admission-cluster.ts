import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ApiClient, ApiError } from '../control-plane/api-client.ts';
import { applyManifest } from '../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { installAccess, ownNamespace } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { eachOf } from './each-of.ts';
import { nodeManifest } from './fleet-objects.ts';
import { processUsage } from './process-usage.ts';

const DEPLOY = path.resolve(import.meta.dirname, '../../deploy');
const SETS = `/apis/labels.banzaicloud.io/v1alpha1/namespaces/${ownNamespace}/nodepoollabelsets`;
/** Pools that nodes are in; every further NodePoolLabelSet is for a pool without nodes. */
const POOLS = 10;
const CREATE_CONCURRENCY = 4;
const KNOWN_MS = 60_000;

/** An API server of its own with some Nodes, and with or without what rollcall installs in admission. */
export class AdmissionCluster {
  readonly names: string[] = [];
  readonly stranger: ApiClient;
  readonly coordinator: ApiClient;
  readonly #controlPlane: ControlPlane;
  #sets = 0;
  #created = 0;

  private constructor(controlPlane: ControlPlane, stranger: ApiClient, coordinator: ApiClient) {
    this.#controlPlane = controlPlane;
    this.stranger = stranger;
    this.coordinator = coordinator;
  }

  static async start({ nodes, policies }: { nodes: number; policies: boolean }): Promise<AdmissionCluster> {
    const controlPlane = await startControlPlane();
    const { coordinatorToken } = await installAccess(controlPlane);
    const stranger = await controlPlane.clientFor({ user: 'stranger', groups: ['system:masters'] });
    const cluster = new AdmissionCluster(controlPlane, stranger, await controlPlane.clientFor(coordinatorToken));
    await applyManifest(controlPlane, await readFile(path.join(DEPLOY, 'crds/nodepoollabelsets.yaml'), 'utf8'));
    await waitFor('NodePoolLabelSets to be served', () => controlPlane.api.list(SETS));
    cluster.names.push(...(await cluster.createNodes(nodes)));
    if (policies) {
      await controlPlane.kubectl(['apply', '-R', '-f', path.join(DEPLOY, 'policies')]);
      await waitFor('the fence', () => cluster.#isFenced(), { timeoutMs: KNOWN_MS });
    }
    return cluster;
  }

  /** Sees to so many NodePoolLabelSets, and that admission knows the last of them. */
  async growSets(wanted: number, { known }: { known: boolean }): Promise<void> {
    const { api } = this.#controlPlane;
    const names = Array.from({ length: wanted - this.#sets }, (_, index) => `pool-${this.#sets + index}`);
    await eachOf(names, CREATE_CONCURRENCY, (name) =>
      api.post(SETS, {
        apiVersion: 'labels.banzaicloud.io/v1alpha1',
        kind: 'NodePoolLabelSet',
        metadata: { name },
        spec: { labels: { 'example.com/tier': name, 'example.com/size': 'xl', 'example.com/cost': '3' } },
      }),
    );
    this.#sets = wanted;
    const last = names.at(-1);
    if (!known || last === undefined) return;
    const isKnown = async () => {
      const made = await api.post('/api/v1/nodes?dryRun=All', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'rehearsal', labels: { agentpool: last } },
      });
      return made.metadata.labels?.['example.com/tier'] === last;
    };
    await waitFor('admission to know the NodePoolLabelSets', isKnown, { timeoutMs: KNOWN_MS });
  }

  /** Creates Nodes, each in one of the pools, 4 at a time; returns their names. */
  async createNodes(count: number): Promise<string[]> {
    const names = Array.from({ length: count }, () => `admitted-${++this.#created}`);
    await eachOf(names, CREATE_CONCURRENCY, (name, index) => {
      const node = nodeManifest(name, '10.0.0.1') as { metadata: { labels: object } };
      const labels = { ...node.metadata.labels, agentpool: `pool-${index % POOLS}` };
      return this.stranger.post('/api/v1/nodes', { ...node, metadata: { ...node.metadata, labels } });
    });
    return names;
  }

  /** Milliseconds of CPU that the API server has had. */
  async cpuMs(): Promise<number> {
    return (await processUsage(this.#controlPlane.apiServerPid ?? 0)).cpuMs;
  }

  async deleteNodes(names: readonly string[]): Promise<void> {
    await eachOf(names, CREATE_CONCURRENCY, (name) => this.stranger.delete(`/api/v1/nodes/${name}`));
  }

  async stop(): Promise<void> {
    this.stranger.close();
    this.coordinator.close();
    await this.#controlPlane.stop();
  }

  async #isFenced(): Promise<boolean> {
    const foreign = { metadata: { labels: { 'example.k8s.io/foreign': '1' } } };
    const write = this.coordinator.patch(`/api/v1/nodes/${this.names[0]}?dryRun=All`, foreign);
    return write.then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.status === 422,
    );
  }
}
