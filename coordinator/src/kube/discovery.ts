import { CodedError } from '@rollcall/common/coded-error.ts';
import { type KubeClient, KubeStatusError } from './client.ts';
import { classifyFailure, type ReflectorFailure } from './reflector-failure.ts';

const TIMEOUT_MS = 10_000;

/**
 * Returns `undefined` if no version of a resource is installed, so that it has no objects. A list that is answered with
 * 404 does not tell: the API server may serve the objects in another version. `path` is the path of the list.
 */
export async function whyNotAbsent(
  client: KubeClient,
  path: string,
  signal: AbortSignal,
): Promise<ReflectorFailure | undefined> {
  const [, root, group, version] = path.split('/');
  const resource = path.split('/').at(-1) ?? path;
  // The core group has one version.
  if (root !== 'apis') return undefined;
  const groupPath = `/apis/${group}`;
  try {
    for (const each of await versionsOf(client, groupPath, signal)) {
      const names = await listOf(client, { path: `${groupPath}/${each}`, field: 'resources', name: 'name' }, signal);
      if (!names.includes(resource)) continue;
      const hint = `The API server knows ${resource}, but does not serve them in the version ${version}: run a version of rollcall that uses one that is served`;
      return { reason: 'absent', kind: 'another version', relist: true, retryAfterMs: 0, hint };
    }
    return undefined;
  } catch (err) {
    const failure = classifyFailure(err, resource);
    const why = err instanceof Error ? err.message : String(err);
    const hint = `Whether ${resource} are installed is not known, since discovery (GET ${groupPath}) failed: ${why}`;
    return { ...failure, kind: `discovery: ${failure.kind}`, relist: true, hint };
  }
}

/** Returns the versions of an API group; none if there is no such group. */
async function versionsOf(client: KubeClient, path: string, signal: AbortSignal): Promise<string[]> {
  try {
    return await listOf(client, { path, field: 'versions', name: 'version' }, signal);
  } catch (err) {
    if (err instanceof KubeStatusError && err.status === 404) return [];
    throw err;
  }
}

type Asked = { path: string; field: 'versions' | 'resources'; name: 'version' | 'name' };

async function listOf(client: KubeClient, { path, field, name }: Asked, signal: AbortSignal): Promise<string[]> {
  const answer = await client.request<{ [field in Asked['field']]?: { [name in Asked['name']]?: string }[] }>({
    method: 'GET',
    path,
    timeoutMs: TIMEOUT_MS,
    signal,
  });
  const listed = answer[field];
  if (!Array.isArray(listed))
    throw new CodedError('KUBE_WATCH_BROKEN', 'The answer is not one of discovery', { fields: { path } });
  return listed.flatMap((each) => each[name] ?? []);
}
