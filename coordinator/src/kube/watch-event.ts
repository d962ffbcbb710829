import { CodedError } from '@rollcall/common/coded-error.ts';
import type { KubeObject, KubeStatus } from './objects.ts';

export type WatchEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: KubeObject };

const TYPES: readonly unknown[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] satisfies WatchEvent['type'][];

/**
 * One line of a watch. Throws KUBE_WATCH_EXPIRED for an ERROR event, after which only a new list helps, whatever it
 * says, and KUBE_WATCH_BROKEN for what is not an event.
 */
export function readWatchEvent(line: unknown): WatchEvent {
  const { type, object } = (line ?? {}) as { type?: unknown; object?: unknown };
  if (type === 'ERROR') {
    const { message, reason, code } = (object ?? {}) as KubeStatus;
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
