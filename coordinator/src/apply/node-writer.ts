import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { NodeRef, NodeSet, NodeWithdrawal, TaintChange } from '../intent/plan.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Node } from '../kube/objects.ts';
import { classifyWriteError, type SentMetadata } from './classify.ts';
import { taintPatch } from './taint-patch.ts';
import type { WriteOutcome } from './write-outcome.ts';

export type WriteOptions = {
  timeoutMs: number;
  /** Everything happens but the write, admission included: to learn what would be refused. */
  rehearsal?: boolean;
};

const APPLY_PATCH = 'application/apply-patch+yaml';
const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
/** Keeps spec and status out of the answer. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

type Patch = { contentType: string; query?: Record<string, string>; body: unknown; accept?: string };

const NOTHING_SENT: SentMetadata = { labels: {}, annotations: {}, pinned: false };

/** Writes to one Node at a time. No method throws: every end is an outcome. */
export class NodeWriter {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /**
   * Removes keys whoever owns them, by a merge patch of nulls. It carries nothing else: a value set by a merge patch
   * would belong to a second entry of the field manager, which no later apply cleans up.
   */
  withdraw(node: NodeRef, keys: NodeWithdrawal, options: WriteOptions): Promise<WriteOutcome> {
    const metadata = { uid: node.uid, ...nulls('labels', keys.labels), ...nulls('annotations', keys.annotations) };
    return this.#patch(node, { contentType: MERGE_PATCH, body: { metadata } }, NOTHING_SENT, options);
  }

  /** Adds and removes taints, if those on the Node are still what was observed; `stale` if not. */
  taints(node: NodeRef, change: TaintChange, options: WriteOptions): Promise<WriteOutcome> {
    const patch = { contentType: JSON_PATCH, body: taintPatch(node, change), accept: 'application/json' };
    return this.#patch(node, patch, NOTHING_SENT, options);
  }

  /**
   * Makes `set` all that rollcall applies to the Node. With force, the request is good for the Node's resource version
   * only, so that it cannot take a key that became somebody else's since.
   */
  set(node: NodeRef, set: NodeSet, options: WriteOptions): Promise<WriteOutcome> {
    const { labels, annotations, force } = set;
    const metadata = {
      name: node.name,
      uid: node.uid,
      ...(force ? { resourceVersion: node.resourceVersion } : {}),
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    };
    const body = { apiVersion: 'v1', kind: 'Node', metadata };
    const query: Record<string, string> = force ? { force: 'true' } : {};
    return this.#patch(
      node,
      { contentType: APPLY_PATCH, query, body },
      { labels, annotations, pinned: force },
      options,
    );
  }

  async #patch(node: NodeRef, patch: Patch, sent: SentMetadata, options: WriteOptions): Promise<WriteOutcome> {
    const { contentType, query, body, accept = METADATA_ONLY } = patch;
    try {
      const answer = await this.#client.request<Node>({
        method: 'PATCH',
        path: `/api/v1/nodes/${encodeURIComponent(node.name)}`,
        query: { fieldManager: FIELD_MANAGER, ...query, ...(options.rehearsal ? { dryRun: 'All' } : {}) },
        body,
        contentType,
        accept,
        timeoutMs: options.timeoutMs,
      });
      return { kind: 'applied', node: answer };
    } catch (error) {
      return classifyWriteError(error, sent);
    }
  }
}

/** Nothing at all rather than an empty map. */
function nulls(field: 'labels' | 'annotations', keys: readonly string[]): Record<string, Record<string, null>> {
  return keys.length === 0 ? {} : { [field]: Object.fromEntries(keys.map((key) => [key, null])) };
}
