import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import { KUBERNETES_DOMAINS, reservedDomainOf } from '@rollcall/common/reserved-domains.ts';
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

/** Bytes of a pool's labels with their values, in the list of keys of a node; the fence admits 128 KiB for all kinds. */
export const POOL_KEYS_BYTES_MAX = 32 * 1024;

export type RefusedKey = { key: string; reason: string };

type PoolSet = { labels: Readonly<Record<string, string>>; pool: string };
export type SortedPoolLabels = { accepted: ReadonlyMap<string, string>; refused: RefusedKey[] };

/**
 * What of a pool's labels can be set, and why the rest can not. One bad key says nothing about the others. A label that
 * says which pool it is, as Banzai's own examples have it, is neither: its nodes are in that pool already. With the
 * position of the label that names the pool of a node, later labels do not name it, and can be set there.
 */
export function sortPoolLabels(
  { labels, pool }: PoolSet,
  reserved: ReservedKeys,
  poolPosition?: number,
): SortedPoolLabels {
  const accepted = new Map<string, string>();
  const refused: RefusedKey[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === pool && reserved.keys.namesPool(key, poolPosition)) continue;
    const size = `"label:${key}":"pool",${value}`.length;
    const reason =
      problemOf(key, value, { reserved, poolPosition }) ?? (bytes + size > POOL_KEYS_BYTES_MAX ? TOO_MANY : undefined);
    if (reason === undefined) {
      accepted.set(key, value);
      bytes += size;
    } else refused.push({ key, reason });
  }
  return { accepted, refused };
}

/** The same, sorted once for each set, position and state of the registry. */
export function poolLabelSorter(reserved: ReservedKeys): (set: PoolSet, poolPosition: number) => SortedPoolLabels {
  const known = new WeakMap<PoolSet, { revision: number; byPosition: Map<number, SortedPoolLabels> }>();
  return (set, poolPosition) => {
    const { revision } = reserved.keys;
    let before = known.get(set);
    if (before?.revision !== revision) {
      before = { revision, byPosition: new Map() };
      known.set(set, before);
    }
    const sorted = before.byPosition.get(poolPosition) ?? sortPoolLabels(set, reserved, poolPosition);
    before.byPosition.set(poolPosition, sorted);
    return sorted;
  };
}

const TOO_MANY = `does not fit: the labels of a pool can have ${POOL_KEYS_BYTES_MAX / 1024} KiB with their values, in the order of their keys; remove labels`;

function problemOf(
  key: string,
  value: string,
  { reserved, poolPosition }: { reserved: ReservedKeys; poolPosition: number | undefined },
): string | undefined {
  const { keys, domains, allowedPrefixes } = reserved;
  if (!isLabelKey(key)) return 'is not a valid label key';
  if (!isLabelValue(value)) return 'has an invalid label value';
  if (key === MANAGED_LABELS_ANNOTATION) return 'is the annotation that lists the labels of pools';
  const refusal = keys.refusal('pool', 'label', key, poolPosition);
  if (refusal !== undefined) return refusal;
  const domain = reservedDomainOf(key, [...KUBERNETES_DOMAINS, ...domains]);
  if (domain !== undefined) return `is in the reserved domain ${domain}`;
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
