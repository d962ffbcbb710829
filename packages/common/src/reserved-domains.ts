/** Domains of the keys of Kubernetes, which other programs read, kubelets at the least. */
export const KUBERNETES_DOMAINS: readonly string[] = ['k8s.io', 'kubernetes.io'];

/** The one of `domains` that a key is in, itself or below it; letters of either case are the same. */
export function reservedDomainOf(key: string, domains: readonly string[]): string | undefined {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')).toLowerCase() : '';
  return domains.find((each) => domain === each.toLowerCase() || domain.endsWith(`.${each.toLowerCase()}`));
}
