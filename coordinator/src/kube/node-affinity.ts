import { parseInt64 } from '@rollcall/common/tolerations.ts';
import type { NodeDemands, NodeRequirement, NodeSelector, NodeSelectorTerm } from './objects.ts';

/** What a node selector looks at. */
export type SelectableNode = {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Whether a requirement counts as met by a label that is not there and may still come; `undefined` for all others. */
  assumed?: (key: string) => boolean | undefined;
};

/**
 * Whether the node has what the pod requires of it, by `nodeSelector` and required node affinity, exactly as
 * kube-scheduler judges it ([`nodeaffinity.go`](https://github.com/kubernetes/component-helpers/blob/master/scheduling/corev1/nodeaffinity/nodeaffinity.go)).
 * A requirement that the scheduler cannot parse is met by no node.
 */
export function meetsRequiredAffinity({ nodeSelector, affinity }: NodeDemands, node: SelectableNode): boolean {
  const selected = Object.entries(nodeSelector ?? {}).every(([key, value]) =>
    meetsExpression({ key, operator: 'In', values: [value] }, node),
  );
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!selected || !required) return selected;
  return meetsNodeSelector(required, node);
}

/** Whether a node selector of Kubernetes selects the node: any of its terms does. */
export function meetsNodeSelector({ nodeSelectorTerms = [] }: NodeSelector, node: SelectableNode): boolean {
  return nodeSelectorTerms.some((term) => meetsTerm(term, node));
}

function meetsTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: SelectableNode): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => meetsExpression(requirement, node)) &&
    matchFields.every((requirement) => meetsField(requirement, node.name))
  );
}

function meetsExpression(
  { key, operator, values = [] }: NodeRequirement,
  { labels, assumed }: SelectableNode,
): boolean {
  // A label may be called `constructor`, which every object has.
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  const isAssumed = value === undefined ? assumed?.(key) : undefined;
  if (isAssumed !== undefined) return isAssumed;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return values.length > 0 && (value === undefined || !values.includes(value));
    case 'Exists':
      return values.length === 0 && value !== undefined;
    case 'DoesNotExist':
      return values.length === 0 && value === undefined;
    case 'Gt':
    case 'Lt':
      return value !== undefined && values.length === 1 && isOrdered(operator, value, values[0] ?? '');
    default:
      return false;
  }
}

/** The only field that the API server allows is the name. */
function meetsField({ key, operator, values = [] }: NodeRequirement, name: string): boolean {
  if (key !== 'metadata.name' || values.length !== 1) return false;
  if (operator === 'In') return values[0] === name;
  return operator === 'NotIn' && values[0] !== name;
}

function isOrdered(operator: 'Gt' | 'Lt', value: string, bound: string): boolean {
  const [left, right] = [parseInt64(value), parseInt64(bound)];
  if (left === undefined || right === undefined) return false;
  return operator === 'Gt' ? left > right : left < right;
}
