import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { SetStatus } from '@rollcall/coordinator/subscribers/status/set-status.ts';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import { ApiError } from '../../control-plane/api-client.ts';
import { applyManifest, createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import type { FenceSettings } from '../../rig/fence.ts';
import { Rig } from '../../rig/rig.ts';
import { NodeStates } from '../gitpod/node-states.ts';
import { MANAGED, POOL, poolLabelSet, poolsPath } from './pool-cluster.ts';

export type PoolObject = KubeObject & { status?: SetStatus };
type Change = { labels?: Record<string, string | null>; annotations?: Record<string, string | null> };
type Expected = { labels?: Record<string, string | undefined>; managed?: readonly string[] | undefined };

const CRD = path.resolve(import.meta.dirname, '../../../deploy/crds/nodepoollabelsets.yaml');
const MARKER = 'marker';
/** The CRD of upstream: without status and without validation. */
const UPSTREAM_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'nodepoollabelsets.labels.banzaicloud.io' },
  spec: {
    group: 'labels.banzaicloud.io',
    scope: 'Namespaced',
    names: {
      kind: 'NodePoolLabelSet',
      plural: 'nodepoollabelsets',
      singular: 'nodepoollabelset',
      shortNames: ['npls'],
    },
    versions: [{ name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema: upstreamSchema() } }],
  },
};

function upstreamSchema(): object {
  const labels = { type: 'object', additionalProperties: { type: 'string' } };
  const spec = { type: 'object', required: ['labels'], properties: { labels } };
  return { type: 'object', required: ['spec'], properties: { spec } };
}

/** A coordinator, pools, and Nodes without kubelet or agent. */
export class PoolStage {
  readonly cluster: EmbeddedCluster;
  readonly api: ApiClient;
  readonly states: NodeStates;
  /** There is none while a test has not started one. */
  rig!: Rig;
  #nodes = 0;
  #marks = 0;
  #markerPatches = 0;

  private constructor(cluster: EmbeddedCluster) {
    this.cluster = cluster;
    this.api = cluster.api;
    this.states = new NodeStates(cluster.api);
  }

  /**
   * `prepare` is done before a coordinator runs, with the CRD in place, or the one of upstream, or none.
   */
  static async start({
    crd = 'ours',
    coordinatorArgs = [],
    clockSpeed = 1,
    fence = {},
    prepare = async () => {},
  }: {
    crd?: 'ours' | 'upstream' | 'none';
    coordinatorArgs?: readonly string[];
    clockSpeed?: number;
    fence?: FenceSettings;
    prepare?: (stage: PoolStage) => Promise<void>;
  } = {}): Promise<PoolStage> {
    const stage = new PoolStage(await embeddedCluster(fence));
    try {
      if (crd === 'ours') await stage.installCrd();
      if (crd === 'upstream') await stage.installCrd(JSON.stringify(UPSTREAM_CRD));
      await prepare(stage);
      stage.rig = await Rig.start({ cluster: stage.cluster, nodes: 0, coordinatorArgs, clockSpeed });
      return stage;
    } catch (error) {
      await stage.stop();
      throw error;
    }
  }

  async installCrd(manifest?: string): Promise<void> {
    await applyManifest(this.cluster.controlPlane, manifest ?? (await readFile(CRD, 'utf8')));
    await waitFor('NodePoolLabelSets to be served', async () => (await this.api.list(poolsPath())).length >= 0);
  }

  async stop(): Promise<void> {
    this.states.stop();
    await this.rig?.stop();
    await this.cluster.stop();
  }

  /** Creates a Node, in a pool where one is given, and returns its name. */
  async node(pool?: string, labels: Record<string, string> = {}, annotations = {}): Promise<string> {
    const name = `pool-node-${++this.#nodes}`;
    const identity: Record<string, string> = pool === undefined ? {} : { [POOL]: pool };
    await createNode(this.api, name, { labels: { ...identity, ...labels }, annotations });
    return name;
  }

  read(node: string): Promise<NodeObject> {
    return this.api.get<NodeObject>(`/api/v1/nodes/${node}`);
  }

  /** Changes a Node as a person with an editor does: by PUT, which is not counted among the PATCHes. */
  async edit(node: string, { labels = {}, annotations = {} }: Change, manager = 'kubectl-edit'): Promise<void> {
    for (;;) {
      const object = await this.read(node);
      const { metadata } = object;
      const next = {
        ...metadata,
        labels: merged(metadata.labels, labels),
        annotations: merged(metadata.annotations, annotations),
      };
      const put = this.api.put(`/api/v1/nodes/${node}?fieldManager=${manager}`, { ...object, metadata: next });
      const error = await put.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) return;
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    }
  }

  async pool(name: string, labels: Record<string, string>, spec: object = {}, namespace = 'rollcall'): Promise<void> {
    await this.api.post(poolsPath(namespace), poolLabelSet(name, labels, spec));
  }

  async relabel(name: string, labels: Record<string, string>): Promise<void> {
    const operations = [{ op: 'replace', path: '/spec/labels', value: labels }];
    await this.api.patch(`${poolsPath()}/${name}`, operations, 'application/json-patch+json');
  }

  removePool(name: string): Promise<void> {
    return this.api.delete(`${poolsPath()}/${name}`);
  }

  readPool(name: string): Promise<PoolObject> {
    return this.api.get<PoolObject>(`${poolsPath()}/${name}`);
  }

  async untilStatus(name: string, isSo: (status: SetStatus) => boolean): Promise<SetStatus> {
    let last: SetStatus | undefined;
    const check = async () => {
      last = (await this.readPool(name)).status;
      // Until a coordinator wrote it, it is the default of the CRD.
      return last?.observedGeneration !== undefined && isSo(last) ? last : undefined;
    };
    return waitFor(`the status of ${name}`, check, { timeoutMs: 8000, everyMs: 50 }).catch((error: unknown) => {
      throw new Error(`${String(error)}; it is ${JSON.stringify(last)}`);
    });
  }

  /** Waits until a Node has these labels (`undefined`: not), and a list of these keys, or none. */
  async until(node: string, { labels = {}, managed }: Expected, timeoutMs = 10_000): Promise<void> {
    const list = managed && JSON.stringify(managed);
    await this.states.until(
      node,
      `${JSON.stringify(labels)}, list ${list}`,
      (state) =>
        Object.entries(labels).every(([key, value]) => state.labels[key] === value) &&
        state.annotations[MANAGED] === list,
      timeoutMs,
    );
  }

  /** Waits until the coordinator has dealt with all that happened before, be it to Nodes or to pools. */
  async settled(): Promise<void> {
    if (this.#marks === 0) {
      await createNode(this.api, MARKER, { labels: { [POOL]: MARKER } });
      await this.pool(MARKER, { mark: '0' });
      await this.until(MARKER, { labels: { mark: '0' }, managed: ['mark'] });
      this.#markerPatches += 1;
    }
    const since = this.states.mark(MARKER);
    await this.edit(MARKER, { labels: { mark: 'edited' } });
    await waitFor('the edit to be undone', () => {
      const marks = since().map(({ labels }) => labels['mark']);
      return marks.includes('edited') && marks.at(-1) !== 'edited';
    });
    this.#marks += 1;
    await this.relabel(MARKER, { mark: String(this.#marks) });
    await this.until(MARKER, { labels: { mark: String(this.#marks) }, managed: ['mark'] });
    this.#markerPatches += 2;
  }

  /**
   * Coordinator's PATCHes of Nodes that were carried out, as the API server counts them, by kind, those for
   * {@link settled} left out. The fence may hear of a change of a set later than the coordinator, and refuse some first.
   */
  async #patches(): Promise<{ removals: number; applies: number }> {
    const { controlPlane } = this.cluster;
    const filter = { resource: 'nodes', subresource: '', code: '200' };
    const count = (verb: string) => controlPlane.requestTotals({ ...filter, verb });
    return { removals: await count('PATCH'), applies: (await count('APPLY')) - this.#markerPatches };
  }

  async #standingPatches(): Promise<{ removals: number; applies: number }> {
    // The API server counts a request a moment after its effect can be seen.
    let last = await this.#patches();
    let same = 0;
    await waitFor('the count of PATCHes to stand still', async () => {
      const next = await this.#patches();
      same = isDeepStrictEqual(last, next) ? same + 1 : 0;
      last = next;
      return same === 3;
    });
    return last;
  }

  /** How often Nodes were patched because of what `act` does; it makes no Nodes, and patches none itself. */
  async patchesBy(act: () => Promise<unknown>): Promise<{ removals: number; applies: number }> {
    await this.settled();
    const before = await this.#standingPatches();
    await act();
    await this.settled();
    const after = await this.#standingPatches();
    return { removals: after.removals - before.removals, applies: after.applies - before.applies };
  }

  /** Does something while no coordinator runs; afterwards one leads. */
  async whileDown(act: () => Promise<unknown>, args: readonly string[] = []): Promise<void> {
    for (const each of [...this.rig.coordinators]) await this.rig.endCoordinator(each, 'SIGTERM');
    await act();
    await this.rig.addCoordinator(args);
    await this.rig.leader();
  }
}

function merged(before: Record<string, string> = {}, change: Record<string, string | null>): Record<string, string> {
  const all = Object.entries({ ...before, ...change });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null));
}
