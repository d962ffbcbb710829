import { DEFAULT_POOL_LABELS, IDENTITY_LABELS } from '@rollcall/common/pool-labels.ts';
import { KUBERNETES_DOMAINS } from '@rollcall/common/reserved-domains.ts';
import { KNOWN_TAINT_PREFIXES, SERVICE_LABEL_PREFIX } from '@rollcall/common/well-known.ts';
import type { KeyEntry } from '@rollcall/coordinator/model/keys/key-entry.ts';
import { OWN_KEYS } from '@rollcall/coordinator/model/keys/own-keys.ts';
import { type GitpodOptions, gitpodServices, type Service } from '@rollcall/coordinator/model/services.ts';
import { LEASE_NAME } from './accounts.ts';

/** What the policies depend on. */
export type PolicySettings = {
  /** The namespace of the coordinator. */
  namespace: string;
  /** The namespace of NodePoolLabels and NodePoolLabelSets. */
  poolNamespace: string;
  /** Name of the Lease of the coordinators. */
  leaseName: string;
  /** Keys of the services that need not be written. */
  services: readonly { label: string; taint: string }[];
  /** Labels that name the pool of a node, the first that has a value counts. */
  poolLabels: readonly string[];
  /** Labels that identify a pool or a node: the default ones, and `poolLabels`. */
  identityLabels: readonly string[];
  /** What labels of pools begin with; the empty string for any. */
  poolPrefixes: readonly string[];
  /** Domains in which no NodePoolLabels and no NodePoolLabelSet may set a label. */
  reservedDomains: readonly string[];
  /** Labels that no pool may set, and that the coordinator may remove where a Node lists them as a pool's. */
  removedLabels: readonly string[];
  /** Prefixes of labels that the coordinator may set on any node. */
  labelPrefixes: readonly string[];
  /** Prefixes of labels, taints and conditions of NodeServices. */
  servicePrefixes: readonly string[];
  /** Whether taints of NodeServices may evict pods: `true` or `false`, in CEL. */
  allowNoExecute: string;
  /** Whether the coordinator may change conditions of Nodes: `true` or `false`, in CEL. */
  conditions: string;
  /** Annotations that the coordinator may set. */
  annotations: readonly string[];
};

/** Labels that only rollcall may set, besides the labels of services; and the prefixes of such labels. */
export const OWN_LABELS = namesOf(({ kind }) => kind === 'label');
export const OWN_PREFIXES: readonly string[] = OWN_KEYS.flatMap(({ keys }) => ('prefix' in keys ? [keys.prefix] : []));

/** Taints that the coordinator may add, besides the taints of services. */
export const OWN_TAINTS = namesOf(({ kind, fence }) => kind === 'taint' && fence !== 'remove');

/** Keys that the built-in services publish. */
export function keysOfServices(change: Partial<GitpodOptions>): PolicySettings['services'] {
  return builtInServices(change).map(({ publish: { label = '', taint } }) => ({ label, taint: taint?.key ?? '' }));
}

/** The services that are known without being written, with every option as it is by default but these. */
export function builtInServices(change: Partial<GitpodOptions>): Service[] {
  const ports = { wsDaemonPort: 8080, registryFacadePort: 31750 };
  return gitpodServices({
    gitpod: true,
    namespace: 'default',
    ...ports,
    requirePod: true,
    readinessGate: 'label',
    wsDaemonProbe: 'tcp',
    ...change,
  });
}

/** Default prefixes of the keys that NodeServices may publish. */
export const DEFAULT_SERVICE_PREFIXES: readonly string[] = [SERVICE_LABEL_PREFIX, ...KNOWN_TAINT_PREFIXES];

/** An installation into the namespace `rollcall`, for Gitpod in `default`, with every option as it is by default. */
export const DEFAULT_SETTINGS: PolicySettings = {
  namespace: 'rollcall',
  poolNamespace: 'rollcall',
  leaseName: LEASE_NAME,
  services: keysOfServices({}),
  poolLabels: DEFAULT_POOL_LABELS,
  identityLabels: IDENTITY_LABELS,
  poolPrefixes: [''],
  reservedDomains: KUBERNETES_DOMAINS,
  removedLabels: [''],
  // With the prefix of the rules in deploy/rules.
  labelPrefixes: [...OWN_PREFIXES, 'accelerators/'],
  servicePrefixes: DEFAULT_SERVICE_PREFIXES,
  allowNoExecute: 'false',
  conditions: 'true',
  annotations: namesOf(({ kind, ownership }) => kind === 'annotation' && ownership !== 'theirs'),
};

function namesOf(isMeant: (entry: KeyEntry) => boolean): readonly string[] {
  return OWN_KEYS.filter(isMeant).flatMap(({ keys }) => ('name' in keys ? [keys.name] : []));
}
