import { request } from 'node:https';
import type { ApiClient } from '../control-plane/api-client.ts';

/** `apply`: as rollcall writes, Server-Side Apply with the metadata alone for an answer. `merge`: a plain merge patch. */
export type PatchKind = 'apply' | 'merge';

export type NodePatch = {
  kind: PatchKind;
  name: string;
  manager: string;
  /** `null` removes a label by a merge patch. */
  labels: Record<string, string | null>;
};

const FORMS = {
  apply: {
    contentType: 'application/apply-patch+yaml',
    accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  },
  merge: { contentType: 'application/merge-patch+json', accept: 'application/json' },
} satisfies Record<PatchKind, unknown>;

/** One PATCH of a Node, its whole answer read and thrown away. */
export function patchNode(client: ApiClient, { kind, name, manager, labels }: NodePatch): Promise<void> {
  const identity = kind === 'apply' ? { apiVersion: 'v1', kind: 'Node' } : {};
  const body = JSON.stringify({ ...identity, metadata: { ...(kind === 'apply' ? { name } : {}), labels } });
  const { headers, ...options } = client.requestOptions('PATCH');
  const { contentType, accept } = FORMS[kind];
  const sized = { 'content-type': contentType, 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL(`/api/v1/nodes/${name}?fieldManager=${manager}`, client.url),
      { ...options, headers: { ...headers, ...sized, Accept: accept } },
      (response) => {
        response.resume();
        response.on('error', reject);
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`PATCH of ${name}: ${response.statusCode}`)),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
