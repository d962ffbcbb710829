/**
 * The features that NFD's worker lists in a NodeFeature, by domain
 * ([the table](https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide.html#available-features)).
 * Other clients write features of other domains, of any form.
 */
const FEATURES: Readonly<Record<string, Readonly<Record<string, 'elements' | 'instances'>>>> = {
  cpu: ofElements('coprocessor', 'cpuid', 'cstate', 'model', 'pstate', 'rdt', 'security', 'sgx', 'sst', 'topology'),
  kernel: ofElements('config', 'enabledmodule', 'loadedmodule', 'selinux', 'version'),
  local: ofElements('feature', 'label'),
  memory: { ...ofElements('hugepages', 'numa', 'swap'), nv: 'instances' },
  network: { device: 'instances', virtual: 'instances' },
  pci: { device: 'instances' },
  storage: { block: 'instances' },
  system: ofElements('dmiid', 'name', 'osrelease'),
  usb: { device: 'instances' },
  // NFD's master has these, and lists them nowhere.
  rule: {},
};

function ofElements(...names: string[]): Record<string, 'elements'> {
  return Object.fromEntries(names.map((name) => [name, 'elements']));
}

/** Why no NodeFeature can ever tell a feature, as a sentence; `undefined` if one may. */
export function undecidableFeature({ feature, element }: { feature: string; element?: string }): string | undefined {
  const [domain = '', name = ''] = feature.split('.');
  const known = Object.hasOwn(FEATURES, domain) ? FEATURES[domain] : undefined;
  if (!known) return undefined;
  const form = Object.hasOwn(known, name) ? known[name] : undefined;
  if (form === undefined) {
    const names = Object.keys(known).map((each) => `${domain}.${each}`);
    return `NFD lists no feature ${feature}, only ${names.join(', ') || 'those of other domains'}`;
  }
  if (form === 'instances' && element !== undefined)
    return `NFD lists ${feature} as instances, of which rules can only ask how many there are: nfd:${feature} >= 1`;
  if (form === 'elements' && element === undefined)
    return `NFD lists ${feature} as elements: name one of them, as nfd:${feature}.NAME`;
  return undefined;
}
