import { request } from 'node:https';
import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import { eachOf } from './each-of.ts';
import { type PatchKind, patchNode } from './patch-node.ts';

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

export type Floor = {
  ms: number;
  /** Removes the labels again. */
  remove: () => Promise<void>;
};

/** How long a bare loop takes to set labels on every node, one PATCH a node, while a client watches the metadata of all. */
export async function measureFloor(
  client: ApiClient,
  names: readonly string[],
  { kind, concurrency, keys }: { kind: PatchKind; concurrency: number; keys: readonly string[] },
): Promise<Floor> {
  const write = (value: string | null) => {
    const labels = kind === 'apply' && value === null ? {} : Object.fromEntries(keys.map((key) => [key, value]));
    return eachOf(names, concurrency, (name) => patchNode(client, { kind, name, manager: FIELD_MANAGER, labels }));
  };
  const stopWatching = await watchMetadata(client);
  const startMs = performance.now();
  await write('true');
  const ms = performance.now() - startMs;
  stopWatching();
  return { ms, remove: () => write(null) };
}

/** Reads what a watch tells, and throws it away. Returns what stops it. */
function watchMetadata(client: ApiClient): Promise<() => void> {
  const { headers, ...options } = client.requestOptions('GET');
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL('/api/v1/nodes?watch=true&resourceVersion=0', client.url),
      { ...options, headers: { ...headers, Accept: METADATA } },
      (response) => {
        if (response.statusCode !== 200) reject(new Error(`The watch of Nodes: ${response.statusCode}`));
        response.on('error', () => {}).resume();
        resolve(() => outgoing.destroy());
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}
