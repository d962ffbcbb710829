import type { ApiClient, KubeObject, PatchType } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { installFence } from '../../rig/fence.ts';
import { POOL, type PoolCluster, refusalOf, register, startPoolCluster } from '../pools/pool-cluster.ts';

export type Field = Record<string, unknown>;
export type Entry = { manager: string; operation: string; apiVersion: string; fieldsType: string; fieldsV1: Field };

const APPLY = 'application/apply-patch+yaml';
export const KEYS = 'rollcall.dev/keys';
export const ROLE = 'node-role.kubernetes.io/control-plane';
export const NFD = 'feature.node.kubernetes.io/pci-0300_10de.present';
export const HOLD = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
export const KARPENTER = 'karpenter.sh/do-not-disrupt';
export const ACCELERATOR = 'accelerators/own';
/** What clients other than rollcall set on each node, and keep. */
export const FOREIGN_LABELS: Record<string, string> = {
  [ROLE]: '',
  [POOL]: 'gold',
  [NFD]: 'true',
  person: 'x',
  [ACCELERATOR]: 'theirs',
  'service.rollcall.dev/theirs': 'theirs',
};
export const FOREIGN_ANNOTATIONS = { [HOLD]: 'true', [KARPENTER]: 'true', mine: '1' };
const TAINTS = [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }];
const CONDITIONS = [
  { type: 'Ready', status: 'True' },
  { type: 'KernelDeadlock', status: 'False' },
];
let nodes = 0;

/** A control plane with the fence in force. */
export async function startFencedCluster(): Promise<PoolCluster> {
  const cluster = await startPoolCluster();
  await installFence(cluster.controlPlane);
  await register(cluster.api, 'first', {});
  const foreign = { metadata: { labels: { foreign: '1' } } };
  await waitFor('the fence', () => refusalOf(cluster.coordinator, 'first', foreign));
  return cluster;
}

/** A client with the coordinator's token, and the node that it attacks. */
export class Attacker {
  readonly name: string;
  readonly #cluster: PoolCluster;

  constructor(name: string, cluster: PoolCluster) {
    this.name = name;
    this.#cluster = cluster;
  }

  /** Returns the refusal, or nothing if the API server takes the request. */
  patch(body: object, type: PatchType = 'application/merge-patch+json', query = ''): Promise<string | undefined> {
    return refusalOf(this.#cluster.coordinator, this.name, body, type, query);
  }

  apply(metadata: object, query = 'fieldManager=rollcall&force=true'): Promise<string | undefined> {
    return this.patch({ apiVersion: 'v1', kind: 'Node', metadata: { name: this.name, ...metadata } }, APPLY, query);
  }

  read(): Promise<NodeObject> {
    return this.#cluster.api.get<NodeObject>(`/api/v1/nodes/${this.name}`);
  }

  readObject(path: string): Promise<KubeObject> {
    return this.#cluster.api.get(path);
  }

  /** Replaces managedFields by what `change` makes of them. */
  async forge(change: (entries: Entry[]) => Entry[], more: object = {}): Promise<string | undefined> {
    const entries = (await this.read()).metadata['managedFields'] as Entry[];
    return this.patch({ metadata: { managedFields: change(structuredClone(entries)), ...more } });
  }
}

/** A node with labels, annotations and taints of others, by several field managers. */
export async function victim(cluster: PoolCluster): Promise<Attacker> {
  const name = `victim-${++nodes}`;
  const { api } = cluster;
  await register(api, name, { [POOL]: 'gold' }, { spec: { taints: TAINTS } });
  const { [ROLE]: role, [NFD]: nfd, ...labels } = FOREIGN_LABELS;
  await api.patch(`/api/v1/nodes/${name}?fieldManager=person`, { metadata: { labels } });
  const applied = (manager: string, metadata: object) => applyAs(api, name, manager, metadata);
  await applied('gitops', { labels: { [ROLE]: role }, annotations: FOREIGN_ANNOTATIONS });
  await applied('nfd-master', { labels: { [NFD]: nfd } });
  const status = { status: { conditions: CONDITIONS } };
  await api.patch(
    `/api/v1/nodes/${name}/status?fieldManager=kubelet`,
    status,
    'application/strategic-merge-patch+json',
  );
  return new Attacker(name, cluster);
}

function applyAs(api: ApiClient, name: string, manager: string, metadata: object): Promise<unknown> {
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, ...metadata } };
  return api.patch(`/api/v1/nodes/${name}?fieldManager=${manager}`, body, APPLY);
}

/** What is foreign on a node, after its owners did what they do all the time. */
export async function foreignOn({ api }: PoolCluster, { name }: Attacker): Promise<object> {
  await applyAs(api, name, 'gitops', { labels: { [ROLE]: '' }, annotations: FOREIGN_ANNOTATIONS });
  const { metadata, spec, status } = await api.get<NodeObject>(`/api/v1/nodes/${name}`);
  const valuesOf = (all: Record<string, string> = {}, keys: object) =>
    Object.fromEntries(Object.keys(keys).map((key) => [key, all[key]]));
  return {
    labels: valuesOf(metadata.labels, FOREIGN_LABELS),
    annotations: valuesOf(metadata.annotations, FOREIGN_ANNOTATIONS),
    taints: spec.taints?.filter(({ key }) => key === 'dedicated'),
    spec: { ...spec, taints: undefined },
    conditions: status.conditions?.filter((each) => CONDITIONS.some(({ type }) => type === each.type)),
    status: { ...status, conditions: undefined },
    owners: [metadata['ownerReferences'], metadata['finalizers']],
  };
}

/** What other field managers own. The list of taints has one owner, whoever changed it last. */
export function fieldsOfOthers({ metadata }: KubeObject): object[] {
  return ((metadata['managedFields'] ?? []) as Entry[])
    .filter(({ manager }) => manager !== 'rollcall')
    .map(({ manager, operation, fieldsV1: { 'f:spec': spec = {}, ...fieldsV1 } }) => {
      const { 'f:taints': _, ...others } = spec as Record<string, object>;
      return {
        manager,
        operation,
        fieldsV1: { ...fieldsV1, ...(Object.keys(others).length > 0 ? { 'f:spec': others } : {}) },
      };
    })
    .filter(({ fieldsV1 }) => Object.keys(fieldsV1).length > 0);
}
