/** Domains of the keys of Kubernetes, which other programs read, kubelets at the least. */
export const KUBERNETES_DOMAINS: readonly string[] = ['k8s.io', 'kubernetes.io'];

/** Labels that kubelets and cloud providers set on every Node. */
export const KUBELET_LABELS: readonly string[] = [
  ...['kubernetes.io/hostname', 'kubernetes.io/arch', 'kubernetes.io/os', 'node.kubernetes.io/instance-type'],
  ...[
    'topology.kubernetes.io/region',
    'topology.kubernetes.io/zone',
    'beta.kubernetes.io/arch',
    'beta.kubernetes.io/os',
  ],
  ...['beta.kubernetes.io/instance-type', 'failure-domain.beta.kubernetes.io/region'],
  'failure-domain.beta.kubernetes.io/zone',
];

/**
 * The one of `domains` that a key is in, itself or below it; letters of either case are the same. A domain without a dot
 * also names the key that is the same and has no prefix.
 */
export function reservedDomainOf(key: string, domains: readonly string[]): string | undefined {
  const [prefix = ''] = key.toLowerCase().split('/');
  const isKey = !key.includes('/');
  return domains.find((each) => {
    const domain = each.toLowerCase();
    return isKey ? !domain.includes('.') && prefix === domain : prefix === domain || prefix.endsWith(`.${domain}`);
  });
}
