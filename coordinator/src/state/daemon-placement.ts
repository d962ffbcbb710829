import { meetsNodeSelector, type SelectableNode } from '../kube/node-affinity.ts';
import type { NodeDemands, NodeRequirement, Taint, Toleration } from '../kube/objects.ts';
import { tolerates } from '../kube/tolerations.ts';
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
  { nodeName = '', nodeSelector = {}, affinity }: DaemonTemplate,
  node: SelectableNode,
  undecided: UndecidedLabel = () => undefined,
): boolean | undefined {
  const isMet = (requirement: NodeRequirement): boolean | undefined => {
    const { key } = requirement;
    if (!Object.hasOwn(node.labels, key) && undecided(key) !== undefined) return undefined;
    return meetsNodeSelector({ nodeSelectorTerms: [{ matchExpressions: [requirement] }] }, node);
  };
  const isSelected = allOf(Object.entries(nodeSelector), ([key, value]) =>
    isMet({ key, operator: 'In', values: [value] }),
  );
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const isPreferred =
    required === undefined ||
    anyOf(required.nodeSelectorTerms ?? [], ({ matchExpressions = [], matchFields = [] }) => {
      // A term without requirements selects no node.
      if (matchExpressions.length + matchFields.length === 0) return false;
      const isField = matchFields.length === 0 || meetsNodeSelector({ nodeSelectorTerms: [{ matchFields }] }, node);
      return isField && allOf(matchExpressions, isMet);
    });
  return allOf([nodeName === '' || nodeName === node.name, isSelected, isPreferred], (each) => each);
}

type Truth = boolean | undefined;

function allOf<T>(values: readonly T[], truthOf: (value: T) => Truth): Truth {
  const truths = values.map(truthOf);
  if (truths.includes(false)) return false;
  return truths.includes(undefined) ? undefined : true;
}

function anyOf<T>(values: readonly T[], truthOf: (value: T) => Truth): Truth {
  const truths = values.map(truthOf);
  if (truths.includes(true)) return true;
  return truths.includes(undefined) ? undefined : false;
}
