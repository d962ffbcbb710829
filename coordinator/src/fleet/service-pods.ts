import { selects } from '../setup/label-selector.ts';
import type { Service } from '../setup/services.ts';
import type { ObservedPod } from './observed-pod.ts';

/**
 * The pods of a service, among those of a node, that speak for it. Where a DaemonSet controls any of them, a bare one
 * with the right labels does not count beside it.
 */
export function podsOf({ pods: wanted }: Pick<Service, 'pods'>, pods: readonly ObservedPod[]): readonly ObservedPod[] {
  if (!wanted) return [];
  const { namespace, selector, daemonSet } = wanted;
  const own = pods.filter((pod) => pod.namespace === namespace && selects(selector, pod.labels));
  if (daemonSet !== undefined) return own.filter((pod) => pod.daemonSet === daemonSet);
  const controlled = own.filter((pod) => pod.daemonSet !== '');
  return controlled.length > 0 ? controlled : own;
}
