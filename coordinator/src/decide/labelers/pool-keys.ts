import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import { POOL_KEYS_LENGTH_MAX, POOL_LABELS_MAX } from '@rollcall/common/pool-labels.ts';
import { KUBELET_LABELS, KUBERNETES_DOMAINS, reservedDomainOf } from '@rollcall/common/reserved-domains.ts';
import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import { parseAnnotation } from '../../state/json-annotation.ts';

/** Keys that a pool may not set. */
export type ReservedKeys = {
  keys: KeyRegistry;
  /** Domains besides the domains of Kubernetes. */
  domains: readonly string[];
  /**
   * Required prefixes of all other keys; empty for no restriction. A key on a node without one is removed as if the
   * pool did not request it.
   */
  allowedPrefixes: readonly string[];
  /** Keys that may not be set, and that are removed where a Node lists them as a pool's. */
  removed?: readonly string[];
};

type PoolSettings = {
  forbiddenLabelDomains: readonly string[];
  poolsAllowedPrefixes: readonly string[];
  poolsRemovedLabels: readonly string[];
};

export function reservedKeys(keys: KeyRegistry, settings: PoolSettings): ReservedKeys {
  return {
    keys,
    domains: settings.forbiddenLabelDomains,
    allowedPrefixes: settings.poolsAllowedPrefixes,
    removed: settings.poolsRemovedLabels,
  };
}

export type RefusedKey = { key: string; reason: string };

type PoolSet = { labels: Readonly<Record<string, string>>; pool: string };
export type SortedPoolLabels = { accepted: ReadonlyMap<string, string>; refused: RefusedKey[] };

/**
 * What of a pool's labels can be set, and why the rest can not. One bad key says nothing about the others. A label that
 * says which pool it is, as Banzai's own examples have it, is neither: its nodes are in that pool already.
 */
export function sortPoolLabels({ labels, pool }: PoolSet, reserved: ReservedKeys): SortedPoolLabels {
  const accepted = new Map<string, string>();
  const refused: RefusedKey[] = [];
  let length = 0;
  const isFull = (key: string) => length + key.length > POOL_KEYS_LENGTH_MAX || accepted.size >= POOL_LABELS_MAX;
  for (const [key, value] of Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === pool && reserved.keys.namesPool(key)) continue;
    const reason = problemOf(key, value, reserved) ?? (isFull(key) ? TOO_MUCH : undefined);
    if (reason !== undefined) {
      refused.push({ key, reason });
      continue;
    }
    length += key.length;
    accepted.set(key, value);
  }
  return { accepted, refused };
}

const TOO_MUCH = `does not fit: a pool may set ${POOL_LABELS_MAX} labels, with ${POOL_KEYS_LENGTH_MAX} characters of keys in all`;

/** The same, sorted once for each set and state of the registry. */
export function poolLabelSorter(reserved: ReservedKeys): (set: PoolSet) => SortedPoolLabels {
  const known = new WeakMap<PoolSet, { revision: number; sorted: SortedPoolLabels }>();
  return (set) => {
    const { revision } = reserved.keys;
    const before = known.get(set);
    if (before?.revision === revision) return before.sorted;
    const sorted = sortPoolLabels(set, reserved);
    known.set(set, { revision, sorted });
    return sorted;
  };
}

const FOR_RULES = ' (a rule can set it, with its prefix in rules.allowedPrefixes)';

/** Whether a rule can set a label that no pool can. */
function isForRules(key: string, domain: string, keys: KeyRegistry): boolean {
  if (!KUBERNETES_DOMAINS.includes(domain) || KUBELET_LABELS.includes(key)) return false;
  return keys.refusal('rule', 'label', key) === undefined;
}

function problemOf(key: string, value: string, reserved: ReservedKeys): string | undefined {
  const { keys, domains, allowedPrefixes } = reserved;
  if (!isLabelKey(key)) return 'is not a valid label key';
  if (!isLabelValue(value)) return 'has an invalid label value';
  if (key === MANAGED_LABELS_ANNOTATION) return 'is the annotation that lists the labels of pools';
  const refusal = keys.refusal('pool', 'label', key);
  if (refusal !== undefined) return refusal;
  const domain = reservedDomainOf(key, [...KUBERNETES_DOMAINS, ...domains]);
  if (domain !== undefined) {
    return `is in the reserved domain ${domain}${isForRules(key, domain, keys) ? FOR_RULES : ''}`;
  }
  if (allowedPrefixes.length === 0 || allowedPrefixes.some((prefix) => key.startsWith(prefix))) return undefined;
  return `does not begin with one of pools.allowedPrefixes (${allowedPrefixes.join(', ')})`;
}

/**
 * The keys in the annotation that lists what a node has because of its pool: none if it is absent, `undefined` if it
 * cannot be read, so that they are unknown.
 */
export function parseManagedLabels(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return new Set();
  const keys = parseAnnotation(text);
  return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? new Set(keys) : undefined;
}

/** Always the same text for the same keys. */
export function formatManagedLabels(keys: Iterable<string>): string {
  return JSON.stringify([...keys].sort());
}
