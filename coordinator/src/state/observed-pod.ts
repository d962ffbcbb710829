import { tolerates } from '@rollcall/common/tolerations.ts';
import type { Pod, Toleration } from '../kube/objects.ts';
import { type PodsCheck, podsChecksOf, type Service } from '../model/services.ts';
import { createIntern } from './intern.ts';
import { selectedIn } from './pod-collection.ts';

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
    daemonSet: daemonSetOf(metadata)?.name ?? '',
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

/** The DaemonSet that controls a pod. */
export function daemonSetOf({ ownerReferences }: Pod['metadata']) {
  return ownerReferences?.find(({ kind, controller }) => controller && kind === 'DaemonSet');
}

/** Pods that have not ended, as the API server takes it in a query: one that ends is told as one that is gone. */
export const NOT_ENDED = 'status.phase!=Succeeded,status.phase!=Failed';

/** Pods of one kind have the same labels and tolerations. */
const intern = createIntern<object>();

export function share<T extends object>(value: T): T {
  return intern(value) as T;
}

/** The pods on a node that speak for a service, by any of its checks of pods. */
export function podsOf(service: Pick<Service, 'checks'>, pods: readonly ObservedPod[]): readonly ObservedPod[] {
  const [first, ...others] = podsChecksOf(service).map((check) => podsOfCheck(check, pods));
  return others.length === 0 ? (first ?? []) : [...new Set([...(first ?? []), ...others.flat()])];
}

/** The pods of one check. Where a DaemonSet controls any of them, a bare one with the right labels does not count beside it. */
export function podsOfCheck(
  { settings: wanted }: Pick<PodsCheck, 'settings'>,
  pods: readonly ObservedPod[],
): readonly ObservedPod[] {
  const own = selectedIn(pods, wanted);
  const { daemonSet } = wanted;
  if (own.length === 0) return own;
  const known = controlledOf.get(own);
  if (known && known.daemonSet === daemonSet) return known.pods;
  const counts = (pod: ObservedPod) => (daemonSet === undefined ? pod.daemonSet !== '' : pod.daemonSet === daemonSet);
  const isAll = daemonSet === undefined ? !own.some(counts) : own.every(counts);
  const counting = isAll ? own : own.filter(counts);
  controlledOf.set(own, { daemonSet, pods: counting });
  return counting;
}

/** Of selected pods, those that count by their DaemonSet, as last asked. */
const controlledOf = new WeakMap<
  readonly ObservedPod[],
  { daemonSet: string | undefined; pods: readonly ObservedPod[] }
>();

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

/**
 * Whether the pods of a service on a node tolerate its taint; `undefined` where there are none. Of each check of pods one is
 * enough: while another is on its way out, a rollout may add the toleration.
 */
export function ownTolerance(service: Service, pods: readonly ObservedPod[]): boolean | undefined {
  const { taint } = service.publish;
  const own = podsChecksOf(service)
    .map((check) => podsOfCheck(check, pods).filter(({ terminating }) => !terminating))
    .filter(({ length }) => length > 0);
  if (!taint || own.length === 0) return undefined;
  return own.every((each) => each.some(({ tolerations }) => tolerates(tolerations, taint)));
}
