import { meetsRequiredAffinity } from '../../kube/node-affinity.ts';
import type { Pod } from '../../kube/objects.ts';

type Labels = Readonly<Record<string, string>>;

/** A Node as far as evictions depend on it. `withdrawn` is what rollcall took away and has not brought back. */
export type NodeState = { labels: Labels; withdrawn: Labels };

/** The kubelet's mark on what it runs from a file: deleting that in the API has no effect on the node. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/**
 * The withdrawn labels, as `key=value`, for want of which a pod that runs on the node has no place on it any more.
 * Empty when it may stay: it is one that is never evicted, it fits, or it would not fit with these labels either.
 */
export function labelsMissedBy(pod: Pod, nodeName: string, { labels, withdrawn }: NodeState): string[] {
  if (!pod.spec || !isEvictable(pod)) return [];
  const before = { name: nodeName, labels: { ...labels, ...withdrawn } };
  if (meetsRequiredAffinity(pod.spec, { name: nodeName, labels }) || !meetsRequiredAffinity(pod.spec, before)) {
    return [];
  }
  const named = keysNamedBy(pod.spec);
  return Object.entries(withdrawn)
    .filter(([key, value]) => named.has(key) && !(Object.hasOwn(labels, key) && labels[key] === value))
    .map(([key, value]) => `${key}=${value}`)
    .sort();
}

function isEvictable({ metadata, status }: Pod): boolean {
  const isFinished = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const isTerminating = metadata.deletionTimestamp !== undefined;
  const isMirror = metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
  // By the kind alone: there are DaemonSets of other API groups, and they too would put it back at once.
  const ofDaemonSet = metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === 'DaemonSet');
  return !isFinished && !isTerminating && !isMirror && !ofDaemonSet;
}

function keysNamedBy({ nodeSelector, affinity }: NonNullable<Pod['spec']>): Set<string> {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const expressions = terms.flatMap(({ matchExpressions }) => matchExpressions ?? []);
  return new Set([...Object.keys(nodeSelector ?? {}), ...expressions.map(({ key }) => key)]);
}
