import { tolerates } from '@rollcall/common/tolerations.ts';
import { meetsRequiredAffinity, type SelectableNode } from '../kube/node-affinity.ts';
import type { NodeDemands, Taint, Toleration } from '../kube/objects.ts';
import type { UndecidedLabel } from '../model/undecided.ts';

/** What the template of a DaemonSet asks of a node. */
export type DaemonTemplate = NodeDemands & {
  nodeName?: string;
  hostNetwork?: boolean;
  tolerations?: readonly Toleration[];
};

const NODE = 'node.kubernetes.io/';
const anyValue = (key: string, effect: string): Toleration => ({ key: `${NODE}${key}`, operator: 'Exists', effect });

/** The tolerations that the controller of DaemonSets gives to each pod, as in its source (`AddOrUpdateDaemonPodTolerations`). */
const ADDED: readonly Toleration[] = [
  anyValue('not-ready', 'NoExecute'),
  anyValue('unreachable', 'NoExecute'),
  ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((key) => anyValue(key, 'NoSchedule')),
];
const ADDED_ON_HOST_NETWORK: readonly Toleration[] = [...ADDED, anyValue('network-unavailable', 'NoSchedule')];

/** The first of these taints that keeps pods of the DaemonSet away. The controller does not look at PreferNoSchedule. */
export function untoleratedTaint(template: DaemonTemplate, taints: readonly Taint[]): Taint | undefined {
  const all = [...(template.tolerations ?? []), ...(template.hostNetwork ? ADDED_ON_HOST_NETWORK : ADDED)];
  return taints.find((taint) => taint.effect !== 'PreferNoSchedule' && !tolerates(all, taint));
}

/**
 * Whether the node has the name and labels that the DaemonSet asks for, exactly as its controller decides: by `nodeName`,
 * `nodeSelector` and required node affinity. `undefined` if that depends on a label that is not decided yet.
 */
export function isAskedFor(
  template: DaemonTemplate,
  { name, labels }: SelectableNode,
  undecided: UndecidedLabel = () => undefined,
): boolean | undefined {
  const { nodeName = '' } = template;
  if (nodeName !== '' && nodeName !== name) return false;
  const isAskedForIf = (isMet: boolean) =>
    meetsRequiredAffinity(template, {
      name,
      labels,
      assumed: (key) => (undecided(key) === undefined ? undefined : isMet),
    });
  if (isAskedForIf(false)) return true;
  return isAskedForIf(true) ? undefined : false;
}
