import { CodedError, hasCode } from '@rollcall/common/coded-error.ts';
import { KubeStatusError } from './client.ts';
import type { KubeObject, KubeStatus } from './objects.ts';

export type WatchEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: KubeObject };

const TYPES: readonly unknown[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] satisfies WatchEvent['type'][];

/**
 * One line of a watch. Throws for an ERROR event as client-go takes it: KubeStatusError where the API server is
 * overloaded or failed (429, 5xx), after which the watch goes on from where it was; KUBE_WATCH_EXPIRED for all else,
 * after which only a new list helps. Throws KUBE_WATCH_BROKEN for what is not an event.
 */
export function readWatchEvent(line: unknown): WatchEvent {
  const { type, object } = (line ?? {}) as { type?: unknown; object?: unknown };
  if (type === 'ERROR') {
    const status = (object ?? {}) as KubeStatus;
    const { message, reason, code } = status;
    if (code !== undefined && (code === 429 || code >= 500)) {
      const seconds = status.details?.retryAfterSeconds;
      throw new KubeStatusError(code, status, seconds === undefined ? undefined : seconds * 1000, { reason });
    }
    throw new CodedError('KUBE_WATCH_EXPIRED', message ?? 'The watch ended with an error', {
      fields: { reason, code },
    });
  }
  const version = (object as KubeObject | undefined)?.metadata?.resourceVersion;
  if (!TYPES.includes(type) || typeof version !== 'string' || version === '') {
    throw new CodedError('KUBE_WATCH_BROKEN', 'The watch sent a line that is not an event');
  }
  return { type, object } as WatchEvent;
}

/** How a failed list or watch affects the next try. */
export type ReflectorFailure = {
  /** The value for the metric, one of a few words. */
  reason: 'expired' | 'absent' | 'refused' | 'rejected' | 'overloaded' | 'garbled' | 'unreachable';
  /** Two failures of one kind are logged once. */
  kind: string;
  /** Whether a watch cannot be resumed: only a new list tells what is there. */
  relist: boolean;
  retryAfterMs: number;
  /** Advice for people. */
  hint?: string;
};

/** Upper limit for the Retry-After of a server. */
const RETRY_AFTER_MS_MAX = 60_000;

export function classifyFailure(error: unknown, resource: string): ReflectorFailure {
  if (error instanceof KubeStatusError) {
    const { reason, relist } = statusMeaning(error.status);
    const retryAfterMs = Math.min(error.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
    const hint = statusHint(error.status, resource);
    return { reason, kind: `status ${error.status}`, relist, retryAfterMs, ...(hint === undefined ? {} : { hint }) };
  }
  if (hasCode(error, 'KUBE_WATCH_EXPIRED'))
    return { reason: 'expired', kind: 'expired', relist: true, retryAfterMs: 0 };
  if (hasCode(error, 'KUBE_LIST_NOT_TAKEN'))
    return { reason: 'garbled', kind: 'not taken in', relist: true, retryAfterMs: 0 };
  if (hasCode(error, 'KUBE_WATCH_BROKEN'))
    return { reason: 'garbled', kind: 'garbled', relist: false, retryAfterMs: 0 };
  return { reason: 'unreachable', kind: 'unreachable', relist: false, retryAfterMs: 0 };
}

function statusMeaning(status: number): Pick<ReflectorFailure, 'reason' | 'relist'> {
  if (status === 410) return { reason: 'expired', relist: true };
  if (status === 404) return { reason: 'absent', relist: true };
  if (status === 401 || status === 403) return { reason: 'refused', relist: false };
  if (status === 429 || status >= 500) return { reason: 'overloaded', relist: false };
  return { reason: 'rejected', relist: true };
}

function statusHint(status: number, resource: string): string | undefined {
  if (status === 401)
    return 'The API server does not accept the credentials: see the kubeconfig or service account token';
  if (status === 403) return `RBAC must permit the verbs list and watch on ${resource}`;
  if (status === 404) return `The API server does not serve ${resource}: see whether its CRD is installed`;
  return undefined;
}
