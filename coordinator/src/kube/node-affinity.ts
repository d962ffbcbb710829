import type { NodeDemands, NodeRequirement, NodeSelector, NodeSelectorTerm } from './objects.ts';

/** What a node selector looks at. */
export type SelectableNode = { name: string; labels: Readonly<Record<string, string>> };

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Whether the node has what the pod requires of it, by `nodeSelector` and required node affinity, exactly as
 * kube-scheduler judges it ([`nodeaffinity.go`](https://github.com/kubernetes/component-helpers/blob/master/scheduling/corev1/nodeaffinity/nodeaffinity.go)).
 * A requirement that the scheduler cannot parse is met by no node.
 */
export function meetsRequiredAffinity({ nodeSelector, affinity }: NodeDemands, node: SelectableNode): boolean {
  const selected = Object.entries(nodeSelector ?? {}).every(([key, value]) => labelValue(node.labels, key) === value);
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
    matchExpressions.every((requirement) => meetsExpression(requirement, labelValue(node.labels, requirement.key))) &&
    matchFields.every((requirement) => meetsField(requirement, node.name))
  );
}

/** `value` is the value of the label; `undefined` if the node does not have it. */
function meetsExpression({ operator, values = [] }: NodeRequirement, value: string | undefined): boolean {
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

/** As Go's `strconv.ParseInt(text, 10, 64)` takes it; a number of JavaScript is not exact so far out. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < INT64_MIN || value > INT64_MAX ? undefined : value;
}

/** A label may be called `constructor`, which every object has. */
function labelValue(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
