import { COMPONENT_LABEL } from '@rollcall/common/well-known.ts';
import type { Pod } from '../kube/objects.ts';

/** A Pod, trimmed to what decisions need. */
export type ObservedPod = {
  uid: string;
  namespace: string;
  name: string;
  /** Value of the label `component`. */
  component: string;
  node: string;
  /** Its condition Ready is True. */
  ready: boolean;
  terminating: boolean;
  podIP: string;
  hostIP: string;
  /** When the kubelet took it in (RFC 3339); empty before. */
  startTime: string;
};

export function observePod({ metadata, spec, status }: Pod): ObservedPod {
  return {
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    component: metadata.labels?.[COMPONENT_LABEL] ?? '',
    node: spec?.nodeName ?? '',
    ready: status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false,
    terminating: metadata.deletionTimestamp !== undefined,
    podIP: status?.podIP ?? '',
    hostIP: status?.hostIP ?? '',
    startTime: status?.startTime ?? '',
  };
}
