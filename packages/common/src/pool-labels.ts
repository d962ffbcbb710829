/**
 * The labels that name a node's pool, in the order in which they count. The first three are the defaults of Banzai's
 * operator in its order, so that its nodes stay in their pools.
 */
export const DEFAULT_POOL_LABELS: readonly string[] = [
  'nodepool.banzaicloud.io/name',
  'cloud.google.com/gke-nodepool',
  'agentpool',
  'node.banzaicloud.io/nodepool',
  'agent',
  'kubernetes.azure.com/agentpool',
  'eks.amazonaws.com/nodegroup',
  'karpenter.sh/nodepool',
];

/** So many of the labels that name pools are never set for pools, be it on a node whose pool another label names. */
export const ALWAYS_NAMES_POOL = 3;

/** The pools that labels of a node name, in the order of `poolLabels`: the node is in the first. */
export function poolsNamed(labels: Readonly<Record<string, string>>, poolLabels: readonly string[]): string[] {
  return [...new Set(poolLabels.flatMap((key) => labels[key] || []))];
}
