import { collectionPath, WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { type KubeApi, KubeApiError } from '../cluster/kube-api.ts';

const RESOURCES: Readonly<Record<string, WatchedResource>> = {
  NodeService: WATCHED.nodeServices,
  NodePoolLabels: WATCHED.nodePoolLabels,
  NodePoolLabelSet: WATCHED.nodePoolLabelSets,
};

/** The API server says with these that it does not take an object, rather than that it may or can not be asked. */
const REFUSED: readonly number[] = [400, 413, 422];

type Written = { kind?: unknown; metadata?: { name?: unknown; namespace?: unknown } };

/** What the API server, with its schemas and admission policies, says against objects, and what it could not be asked. */
export async function tryApply(
  objects: readonly object[],
  kube: () => KubeApi,
  namespace: string,
): Promise<{ problems: string[]; notes: string[] }> {
  const problems: string[] = [];
  const missing = new Set<string>();
  for (const object of objects) {
    const { kind, metadata: { name, namespace: written } = {} }: Written = object;
    const resource = typeof kind === 'string' && Object.hasOwn(RESOURCES, kind) ? RESOURCES[kind] : undefined;
    if (!resource || typeof name !== 'string') continue;
    const isNamespaced = resource !== WATCHED.nodeServices;
    const path = collectionPath(resource, isNamespaced ? String(written ?? namespace) : undefined);
    try {
      await kube().tryReplace(path, name, object);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const { status, about } = error instanceof KubeApiError ? error : {};
      // An API server that serves a resource says by 404 that the namespace is missing: with the object, it would make it.
      if (status === 404 && about !== 'namespaces') missing.add(resource.title);
      else if (status === 404 || REFUSED.includes(status ?? 0))
        problems.push(`${String(kind)} ${name} would be refused by the API server: ${message}`);
      else return { problems, notes: [...[...missing].map(noCrd), notAsked('the objects', message)] };
    }
  }
  return { problems, notes: [...missing].map(noCrd) };
}

function noCrd(title: string): string {
  return notAsked(title, `the CRD of ${title} is not installed`);
}

function notAsked(objects: string, why: string): string {
  return `The API server was not asked whether it accepts ${objects}: ${why}`;
}
