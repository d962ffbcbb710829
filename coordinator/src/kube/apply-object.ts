import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { type KubeClient, KubeStatusError } from './client.ts';
import type { ObjectMeta } from './objects.ts';

/** The kinds of which the coordinator keeps one object by name in its own namespace. */
const KINDS = {
  Secret: { apiVersion: 'v1', root: '/api/v1', plural: 'secrets' },
  ConfigMap: { apiVersion: 'v1', root: '/api/v1', plural: 'configmaps' },
  Lease: { apiVersion: 'coordination.k8s.io/v1', root: '/apis/coordination.k8s.io/v1', plural: 'leases' },
} as const;

export type ObjectRef = { kind: keyof typeof KINDS; namespace: string; name: string };

/** An object as the API server gave it; whatever it holds beside metadata goes back unchanged with `replaceObject`. */
export type StoredObject = { metadata: ObjectMeta; [field: string]: unknown };

export type ObjectLimits = { timeoutMs: number; signal?: AbortSignal };

/** `undefined` when there is no such object. Throws like `KubeClient.request`. */
export async function getObject<T extends StoredObject>(
  client: Pick<KubeClient, 'request'>,
  ref: ObjectRef,
  limits: ObjectLimits,
): Promise<T | undefined> {
  try {
    return await client.request<T>({ method: 'GET', path: objectPath(ref), ...limits });
  } catch (err) {
    if (isNotFound(err)) return undefined;
    throw err;
  }
}

/**
 * Server-Side Apply of `fields`, which creates the object where there is none: RBAC can permit that by name, but not a
 * POST. It is no lock: of two that apply to the same name at once, both succeed. To decide who was first, apply nothing
 * and then replace what came back. Throws like `KubeClient.request`.
 */
export function applyObject<T extends StoredObject>(
  client: Pick<KubeClient, 'request'>,
  ref: ObjectRef,
  fields: Record<string, unknown>,
  limits: ObjectLimits,
): Promise<T> {
  const { metadata, ...rest } = fields;
  const own = { name: ref.name, namespace: ref.namespace };
  return client.request<T>({
    method: 'PATCH',
    path: objectPath(ref),
    query: { fieldManager: FIELD_MANAGER },
    contentType: 'application/apply-patch+yaml',
    body: {
      apiVersion: KINDS[ref.kind].apiVersion,
      kind: ref.kind,
      ...rest,
      metadata: { ...(metadata ?? {}), ...own },
    },
    ...limits,
  });
}

/**
 * Replaces the object if it still is what `object` was read as (uid and resourceVersion): of several that try, one
 * succeeds and the others get a conflict. Throws like `KubeClient.request`.
 */
export function replaceObject<T extends StoredObject>(
  client: Pick<KubeClient, 'request'>,
  ref: ObjectRef,
  object: T,
  limits: ObjectLimits,
): Promise<T> {
  // Left out, the API server keeps the books itself.
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return client.request<T>({
    method: 'PUT',
    path: objectPath(ref),
    query: { fieldManager: FIELD_MANAGER },
    body: { ...object, apiVersion: KINDS[ref.kind].apiVersion, kind: ref.kind, metadata },
    ...limits,
  });
}

/** The objects of the kind in the namespace. */
export function collectionPath({ kind, namespace }: Pick<ObjectRef, 'kind' | 'namespace'>): string {
  const { root, plural } = KINDS[kind];
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubeStatusError && error.status === 404;
}

export function isConflict(error: unknown): boolean {
  return error instanceof KubeStatusError && error.status === 409;
}

function objectPath(ref: ObjectRef): string {
  return `${collectionPath(ref)}/${encodeURIComponent(ref.name)}`;
}
