import { hasCode } from '@rollcall/common/coded-error.ts';
import { KubeStatusError } from './client.ts';

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
