import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import type { KubeClient, KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { ModelNodes, PatchKind } from './nodes.ts';
import { failure, notFound } from './refusals.ts';

/**
 * What becomes of one request.
 * - `lost`: it never arrives. `unanswered`: it is carried out, and its answer never arrives.
 * - `hangs`: it is not carried out, and its client waits for the answer until time is up.
 * - a number: this status instead of being carried out, with Retry-After where it is told.
 */
export type Fate = 'answered' | 'lost' | 'unanswered' | 'hangs' | { status: number; retryAfterMs?: number };

export type ModelClientOptions = {
  nodes: ModelNodes;
  clock: Clock;
  fate: (request: KubeRequest) => Fate;
  /** How long a request, and how long its answer, is under way. */
  latencyMs: () => number;
  /** Answers a request that is not about Nodes. */
  elsewhere?: (request: KubeRequest) => unknown;
  /** Every request, as it arrives. */
  onRequest?: (request: KubeRequest) => void;
};

const KINDS: Readonly<Record<string, PatchKind>> = {
  'application/apply-patch+yaml': 'apply',
  'application/merge-patch+json': 'merge',
  'application/json-patch+json': 'json',
};

/** A client of the model: GET and PATCH of single Nodes. A watch is a `LaggingLine`. */
export function createModelClient(options: ModelClientOptions): KubeClient {
  const { nodes, clock, fate, latencyMs, elsewhere, onRequest } = options;
  const pass = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  return {
    async request<T>(request: KubeRequest): Promise<T> {
      const decided = fate(request);
      await pass(latencyMs());
      if (decided === 'lost') return unreachable(request, pass);
      onRequest?.(request);
      if (decided === 'hangs') return hung(request, clock);
      if (typeof decided === 'object') throw failure(decided.status, decided.retryAfterMs);
      let answer: unknown;
      try {
        const isOfNodes = !elsewhere || request.path.startsWith('/api/v1/nodes/');
        answer = isOfNodes ? carryOut(nodes, request) : elsewhere(request);
      } finally {
        if (decided === 'answered') await pass(latencyMs());
      }
      return decided === 'unanswered' ? unreachable(request, pass) : (answer as T);
    },
    stream: () => Promise.reject(new Error('The model has no streams: use a LaggingLine')),
    close: () => {},
  };
}

/** The connection is cut off at once, or after a while. */
async function unreachable(request: KubeRequest, pass: (ms: number) => Promise<void>): Promise<never> {
  await pass(Math.min(request.timeoutMs, 200));
  throw new CodedError('KUBE_UNREACHABLE', 'The model gave no answer');
}

/** The time of the request is up, or its client gives it up. */
function hung({ timeoutMs, signal }: KubeRequest, clock: Clock): Promise<never> {
  return new Promise((_, reject) => {
    const timeout = new CodedError('KUBE_UNREACHABLE', 'The model gave no answer in time', { fields: { timeoutMs } });
    const cancel = clock.after(timeoutMs, () => reject(timeout));
    const giveUp = () => {
      cancel();
      reject(signal?.reason);
    };
    if (signal?.aborted) giveUp();
    else signal?.addEventListener('abort', giveUp, { once: true });
  });
}

/** What a request for one Node is answered with. Throws KubeStatusError. */
export function carryOut(
  nodes: ModelNodes,
  { method, path, query = {}, body, contentType, accept = '' }: KubeRequest,
): Node {
  const [, encoded = '', subresource] = /^\/api\/v1\/nodes\/([^/]+)(\/status)?$/.exec(path) ?? [];
  const name = decodeURIComponent(encoded);
  const kind = KINDS[contentType ?? ''];
  if (method === 'GET' && name !== '') return shown(nodes.get(name) ?? fail(notFound(name)), accept);
  if (method !== 'PATCH' || name === '' || !kind)
    throw new Error(`The model knows no ${method} ${path} ${contentType}`);
  const manager = query['fieldManager'] ?? 'unknown';
  const [force, dryRun] = [query['force'] === 'true', query['dryRun'] === 'All'];
  const where = subresource ? ({ subresource: 'status' } as const) : {};
  return shown(nodes.patch({ kind, name, manager, body, force, dryRun, ...where }), accept);
}

/** A Node as it goes over the wire: whole, or its metadata alone. */
export function shown(node: Node, accept: string): Node {
  const { spec = {}, status = {}, ...metadata } = node;
  return accept.includes('as=PartialObjectMetadata') ? metadata : { ...node, spec, status };
}

function fail(error: Error): never {
  throw error;
}
