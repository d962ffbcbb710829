import type { Pod, Toleration } from '../kube/objects.ts';
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
