import type { Pod } from '../../kube/objects.ts';
import { share } from '../observed-pod.ts';

/** A Pod that has not ended, trimmed to what it takes to know which NodeHolds name it. */
export type HoldingPod = {
  uid: string;
  namespace: string;
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Empty before it has one. */
  node: string;
};

/** Pods that have not ended, as the API server takes it in a query: one that ends is told as one that is gone. */
export const NOT_ENDED = 'status.phase!=Succeeded,status.phase!=Failed';

export function observeHoldingPod({ metadata, spec }: Pod): HoldingPod {
  const { uid, namespace = '', name, labels = {} } = metadata;
  return { uid, namespace, name, labels: share(labels), node: spec?.nodeName ?? '' };
}
