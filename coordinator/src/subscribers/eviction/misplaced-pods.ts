import type { NodeDemands, NodeRequirement, NodeSelectorTerm, Pod } from '../../kube/objects.ts';

type Labels = Readonly<Record<string, string>>;

/** A Node as far as evictions depend on it. `withdrawn` is what rollcall took away and has not brought back. */
export type NodeState = { labels: Labels; withdrawn: Labels };

/** The kubelet's mark on what it runs from a file: deleting that in the API has no effect on the node. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/**
 * The withdrawn labels, as `key=value`, for want of which a pod that runs on the node has no place on it any more.
 * Empty when it may stay: it is one that is never evicted, it fits, or it would not fit with these labels either.
 */
export function labelsMissedBy(pod: Pod, nodeName: string, { labels, withdrawn }: NodeState): string[] {
  if (!pod.spec || !isEvictable(pod)) return [];
  const before = { name: nodeName, labels: { ...labels, ...withdrawn } };
  if (meetsRequiredAffinity(pod.spec, { name: nodeName, labels }) || !meetsRequiredAffinity(pod.spec, before)) {
    return [];
  }
  const named = keysNamedBy(pod.spec);
  return Object.entries(withdrawn)
    .filter(([key, value]) => named.has(key) && !(Object.hasOwn(labels, key) && labels[key] === value))
    .map(([key, value]) => `${key}=${value}`)
    .sort();
}

function isEvictable({ metadata, status }: Pod): boolean {
  const isFinished = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const isTerminating = metadata.deletionTimestamp !== undefined;
  const isMirror = metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
  // By the kind alone: there are DaemonSets of other API groups, and they too would put it back at once.
  const ofDaemonSet = metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === 'DaemonSet');
  return !isFinished && !isTerminating && !isMirror && !ofDaemonSet;
}

function keysNamedBy({ nodeSelector, affinity }: NonNullable<Pod['spec']>): Set<string> {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const expressions = terms.flatMap(({ matchExpressions }) => matchExpressions ?? []);
  return new Set([...Object.keys(nodeSelector ?? {}), ...expressions.map(({ key }) => key)]);
}

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
  return required.nodeSelectorTerms?.some((term) => meetsTerm(term, node)) === true;
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
function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < INT64_MIN || value > INT64_MAX ? undefined : value;
}

/** A label may be called `constructor`, which every object has. */
function labelValue(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
