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

export function observeHoldingPod({ metadata, spec }: Pod): HoldingPod {
  const { uid, namespace = '', name, labels = {} } = metadata;
  return { uid, namespace, name, labels: share(labels), node: spec?.nodeName ?? '' };
}
