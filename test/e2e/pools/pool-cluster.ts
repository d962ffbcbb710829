import path from 'node:path';
import { collectionPath } from '@rollcall/common/watched-resources.ts';
import { POOL_LABEL_RESOURCES } from '@rollcall/coordinator/state/pool-label-sets.ts';
import { type ApiClient, ApiError, type KubeObject, type PatchType } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '../../control-plane/control-plane.ts';
import { installAccess } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';

export const MANAGED = 'nodepool.banzaicloud.io/managed-labels';
/** Names the pool of the nodes that tests make, where it does not matter which label does. */
export const POOL = 'nodepool.banzaicloud.io/name';

const deploy = path.resolve(import.meta.dirname, '../../../deploy');

/** A control plane with rollcall's namespace and rights, and a client with the coordinator's own token. */
export type PoolCluster = { controlPlane: ControlPlane; api: ApiClient; coordinator: ApiClient; stop(): Promise<void> };

export async function startPoolCluster(options: ControlPlaneOptions = {}): Promise<PoolCluster> {
  const controlPlane = await startControlPlane(options);
  const { coordinatorToken } = await installAccess(controlPlane);
  const coordinator = await controlPlane.clientFor(coordinatorToken);
  return {
    controlPlane,
    api: controlPlane.api,
    coordinator,
    async stop() {
      coordinator.close();
      await controlPlane.stop();
    },
  };
}

/** Applies a file or a folder of `deploy` as a person would. */
export function applyDeployed(cluster: Pick<PoolCluster, 'controlPlane'>, name: string): Promise<string> {
  return cluster.controlPlane.kubectl(['apply', '-R', '-f', path.join(deploy, name)]);
}

/** Applies the CRDs and waits until the labels of pools are served. */
export async function applyCrd(cluster: Pick<PoolCluster, 'controlPlane' | 'api'>): Promise<void> {
  await applyDeployed(cluster, 'crds');
  const crds = Object.values(POOL_LABEL_RESOURCES).map(({ resource, group }) => `crd/${resource}.${group}`);
  await cluster.controlPlane.kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...crds]);
  await waitFor('NodePoolLabelSets to be served', () => cluster.api.list(poolsPath()));
  await waitFor('NodePoolLabels to be served', () => cluster.api.list(poolLabelsPath()));
}

/** Path of the NodePoolLabelSets. */
export function poolsPath(namespace = 'rollcall'): string {
  return collectionPath(POOL_LABEL_RESOURCES.NodePoolLabelSet, namespace);
}

/** Path of the NodePoolLabels. */
export function poolLabelsPath(namespace = 'rollcall'): string {
  return collectionPath(POOL_LABEL_RESOURCES.NodePoolLabels, namespace);
}

/** A NodePoolLabelSet. */
export function poolLabelSet(name: string, labels: object, more: object = {}): KubeObject {
  return {
    apiVersion: 'labels.banzaicloud.io/v1alpha1',
    kind: 'NodePoolLabelSet',
    metadata: { name },
    spec: { labels, ...more },
  };
}

/** A NodePoolLabels with the same labels. */
export function nodePoolLabels(name: string, labels: object, more: object = {}): KubeObject {
  return { ...poolLabelSet(name, labels, more), apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodePoolLabels' };
}

/** Creates a Node with nothing but these labels; with `dryRun` the answer alone is made. */
export function register(
  client: ApiClient,
  name: string,
  labels: Record<string, string>,
  { dryRun = false, annotations = {}, spec = {}, status = {} } = {},
): Promise<NodeObject> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels, annotations }, spec, status };
  return client.post<NodeObject>(`/api/v1/nodes${dryRun ? '?dryRun=All' : ''}`, node);
}

/**
 * Waits until admission knows the NodePoolLabelSets: until a Node of the pool would get this label. The API server's
 * admission learns of them a moment after they are written.
 */
export async function admissionKnows(
  { api }: Pick<PoolCluster, 'api'>,
  pool: string,
  [key, value]: readonly [string, string | undefined],
): Promise<void> {
  await waitFor(`admission to give nodes of ${pool} ${key}=${value}`, async () => {
    const { metadata } = await register(api, 'rehearsal', { [POOL]: pool }, { dryRun: true });
    return metadata.labels?.[key] === value;
  });
}

/** What the API server says to a patch of a Node by rollcall's field manager: nothing when it takes it. */
export async function refusalOf(
  client: ApiClient,
  node: string,
  body: object,
  type: PatchType = 'application/merge-patch+json',
  query = 'dryRun=All',
): Promise<string | undefined> {
  const manager = query.includes('fieldManager=') ? '' : '&fieldManager=rollcall';
  const outcome = await client
    .patch(`/api/v1/nodes/${node}?${query}${manager}`, body, type)
    .catch((error: unknown) => error);
  if (!(outcome instanceof Error)) return undefined;
  if (outcome instanceof ApiError) return outcome.message;
  throw outcome;
}

export function readNode({ api }: PoolCluster, name: string): Promise<NodeObject> {
  return api.get<NodeObject>(`/api/v1/nodes/${name}`);
}
