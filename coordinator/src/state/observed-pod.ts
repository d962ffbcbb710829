import type { Pod, Toleration } from '../kube/objects.ts';
import { selects } from '../model/label-selector.ts';
import { type PodsCheck, podsChecksOf, type Service } from '../model/services.ts';
import { createIntern } from './intern.ts';

/** A Pod, trimmed to what decisions need. */
export type ObservedPod = {
  uid: string;
  namespace: string;
  name: string;
  labels: Readonly<Record<string, string>>;
  tolerations: readonly Toleration[];
  /** Name of the DaemonSet that controls it; empty where none does. */
  daemonSet: string;
  node: string;
  /** By the wall clock, in milliseconds since the epoch. */
  createdAtMs: number;
  /** Its condition Ready is True. */
  ready: boolean;
  /** When that condition last changed to True, by the clock of its kubelet, in milliseconds since the epoch; 0 if unknown. */
  readySinceMs: number;
  terminating: boolean;
  podIP: string;
  hostIP: string;
  /** When the kubelet took it in (RFC 3339); empty before. */
  startTime: string;
};

export function observePod({ metadata, spec, status }: Pod): ObservedPod {
  const ready = status?.conditions?.find(({ type, status: value }) => type === 'Ready' && value === 'True');
  return {
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    labels: share(metadata.labels ?? {}),
    tolerations: share(spec?.tolerations ?? []),
    daemonSet: metadata.ownerReferences?.find(({ kind, controller }) => controller && kind === 'DaemonSet')?.name ?? '',
    node: spec?.nodeName ?? '',
    createdAtMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    ready: ready !== undefined,
    readySinceMs: Date.parse(ready?.lastTransitionTime ?? '') || 0,
    terminating: metadata.deletionTimestamp !== undefined,
    podIP: status?.podIP ?? '',
    hostIP: status?.hostIP ?? '',
    startTime: status?.startTime ?? '',
  };
}

/** Pods of one kind have the same labels and tolerations. */
const intern = createIntern<object>();

export function share<T extends object>(value: T): T {
  return intern(value) as T;
}

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
