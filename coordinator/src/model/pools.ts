/** The labels that name a node's pool, in the order in which they count. */
export const DEFAULT_POOL_LABELS: readonly string[] = [
  'nodepool.banzaicloud.io/name',
  'node.banzaicloud.io/nodepool',
  'cloud.google.com/gke-nodepool',
  'agentpool',
  'agent',
  'kubernetes.azure.com/agentpool',
  'eks.amazonaws.com/nodegroup',
  'karpenter.sh/nodepool',
];

/** The pool of a node: the first of these labels that has a value. */
export function poolOf(labels: Readonly<Record<string, string>>, poolLabels: readonly string[]): string | undefined {
  const key = poolLabels.find((candidate) => labels[candidate]);
  return key === undefined ? undefined : labels[key];
}
