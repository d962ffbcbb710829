import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { Write } from '../decide/intent/kinds/kind.ts';
import { WRITES } from '../decide/intent/kinds/kinds.ts';
import type { NodeRef } from '../decide/intent/plan.ts';
import type { LeaderRequests } from '../kube/leader-requests.ts';
import type { Node } from '../kube/objects.ts';
import { classifyWriteError, type WriteOutcome } from './classify.ts';

export type WriteOptions = {
  timeoutMs: number;
  /** Ends the request: the caller no longer waits for its answer. */
  signal?: AbortSignal;
  /** Everything happens but the write, admission included: to learn what would be refused. */
  rehearsal?: boolean;
  /** Writes only if the Node is still what was observed; `stale` if not. */
  ifUnchanged?: boolean;
  /** Asks for the whole Node as it is after the write, with its spec and status. */
  whole?: boolean;
};

const CONTENT_TYPES = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
};
const READ_TIMEOUT_MS = 5000;
const WHOLE = 'application/json';
/** Keeps spec and status out of the answer. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

type Requests = Pick<LeaderRequests, 'request' | 'mayBegin'>;

/** Writes to one Node at a time. No method throws: every end is an outcome. */
export class NodeWriter {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Whether a write could begin now. */
  get mayBegin(): boolean {
    return this.#requests.mayBegin;
  }

  async send(node: NodeRef, write: Write, options: WriteOptions): Promise<WriteOutcome> {
    const { patch, changes } = WRITES[write.write];
    const { form, subresource, force, body, whole } = patch(write, node, options.ifUnchanged === true);
    const query = { ...(force ? { force: 'true' } : {}), ...(options.rehearsal ? { dryRun: 'All' } : {}) };
    try {
      const answer = await this.#requests.request<Node>({
        method: 'PATCH',
        path: subresource ? `${pathOf(node.name)}/${subresource}` : pathOf(node.name),
        query: { fieldManager: FIELD_MANAGER, ...query },
        body,
        contentType: CONTENT_TYPES[form],
        accept: whole || options.whole ? WHOLE : METADATA_ONLY,
        timeoutMs: options.timeoutMs,
        ...(options.signal ? { signal: options.signal } : {}),
      });
      return { kind: 'applied', node: answer };
    } catch (error) {
      return classifyWriteError(error, changes(write));
    }
  }

  /** The Node's metadata as it is now, or the whole Node; `undefined` when it cannot be read. */
  async read(name: string, { timeoutMs = READ_TIMEOUT_MS, whole = false } = {}): Promise<Node | undefined> {
    const accept = whole ? WHOLE : METADATA_ONLY;
    const request = { method: 'GET', path: pathOf(name), accept, timeoutMs } as const;
    return this.#requests.request<Node>(request).catch(() => undefined);
  }
}

function pathOf(node: string): string {
  return `/api/v1/nodes/${encodeURIComponent(node)}`;
}
