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

/**
 * Labels that say which pool a node is in, or which node it is, at more providers. Kubernetes' own, such as
 * `kubernetes.io/hostname`, are in reserved domains.
 */
const MORE_IDENTITY_LABELS: readonly string[] = [
  'alpha.eksctl.io/nodegroup-name',
  'doks.digitalocean.com/node-id',
  'doks.digitalocean.com/node-pool',
  'k8s.scaleway.com/pool',
  'karpenter.sh/provisioner-name',
  'lke.linode.com/pool-id',
  'worker.gardener.cloud/pool',
];

/** Labels that identify a pool or a node. Nothing in rollcall sets or removes them, whichever label names the pool. */
export const IDENTITY_LABELS: readonly string[] = [...DEFAULT_POOL_LABELS, ...MORE_IDENTITY_LABELS];

/**
 * Characters of the keys of all labels that a node gets because of its pool. Its Node lists each of them twice, beside
 * the keys of services and rules, in annotations that together have at most 262,144 characters.
 */
export const POOL_KEYS_LENGTH_MAX = 32_768;
/** Number of labels of one NodePoolLabels or NodePoolLabelSet. */
export const POOL_LABELS_MAX = 2000;

/** The pools that labels of a node name, in the order of `poolLabels`: the node is in the first. */
export function poolsNamed(labels: Readonly<Record<string, string>>, poolLabels: readonly string[]): string[] {
  return [...new Set(poolLabels.flatMap((key) => labels[key] || []))];
}
