import { CodedError } from '@rollcall/common/coded-error.ts';
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
