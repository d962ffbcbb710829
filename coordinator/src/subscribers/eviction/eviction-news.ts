import { describeError } from '@rollcall/common/coded-error.ts';
import type { Pod } from '../../kube/objects.ts';
import type { EventNews, EventSubject } from '../events/event-news.ts';
import type { EvictionOutcome } from './evict-pod.ts';

/** Events stand on the pod: it is its owner who has to know, and the pod's own Events outlive it by an hour. */
export function evictedNews(pod: Pod, node: string, labels: readonly string[]): EventNews {
  const message = `Evicted, because ${node} lost labels that this pod requires: ${labels.join(', ')}`;
  return { subject: subjectOf(pod), type: 'Normal', reason: 'EvictedLabelRemoved', message };
}

/** To be told once for a pod: it is tried again for as long as it takes. */
export function refusedNews(
  pod: Pod,
  node: string,
  labels: readonly string[],
  outcome: Extract<EvictionOutcome, { kind: 'blocked' | 'failed' }>,
): EventNews {
  const why = outcome.kind === 'blocked' ? outcome.message : describeError(outcome.error);
  const message = `Not evicted yet, although ${node} lost labels that this pod requires: ${labels.join(', ')}; ${why}`;
  return { subject: subjectOf(pod), type: 'Warning', reason: 'EvictionRefused', message };
}

function subjectOf({ metadata: { name, namespace = '', uid } }: Pod): EventSubject {
  return { apiVersion: 'v1', kind: 'Pod', name, namespace, uid };
}
