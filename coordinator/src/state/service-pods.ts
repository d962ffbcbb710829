import { selects } from '../model/label-selector.ts';
import { type PodsCheck, podsChecksOf, type Service } from '../model/services.ts';
import type { ObservedPod } from './observed-pod.ts';

/** The pods on a node that speak for a service, by any of its checks of pods. */
export function podsOf(service: Pick<Service, 'checks'>, pods: readonly ObservedPod[]): readonly ObservedPod[] {
  return [...new Set(podsChecksOf(service).flatMap((check) => podsOfCheck(check, pods)))];
}

/** The pods of one check. Where a DaemonSet controls any of them, a bare one with the right labels does not count beside it. */
export function podsOfCheck(
  { pods: wanted }: Pick<PodsCheck, 'pods'>,
  pods: readonly ObservedPod[],
): readonly ObservedPod[] {
  const { namespace, selector, daemonSet } = wanted;
  const own = pods.filter((pod) => pod.namespace === namespace && selects(selector, pod.labels));
  if (daemonSet !== undefined) return own.filter((pod) => pod.daemonSet === daemonSet);
  const controlled = own.filter((pod) => pod.daemonSet !== '');
  return controlled.length > 0 ? controlled : own;
}

/**
 * Whether a pod belongs to this Node, and not to an earlier one of the same name: a pod that is older than its Node counts
 * once it became Ready since. The API server sets both creation times, so the clock of a kubelet matters only for such a
 * pod. Times have seconds.
 */
export function isOfNode(
  { createdAtMs, readySinceMs }: Pick<ObservedPod, 'createdAtMs' | 'readySinceMs'>,
  node: { createdAtMs: number },
): boolean {
  return createdAtMs >= node.createdAtMs || readySinceMs > node.createdAtMs;
}

/** The first of these pods that is Ready, not terminating, and of this Node. One is enough. */
export function readyPodIn(pods: readonly ObservedPod[], node: { createdAtMs: number }): ObservedPod | undefined {
  return pods.find((pod) => pod.ready && !pod.terminating && isOfNode(pod, node));
}
