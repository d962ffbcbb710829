import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { KUBERNETES_DOMAINS, reservedDomainOf } from '../reserved-domains.ts';
import type { Service } from '../services.ts';

/** Keys that a pool may not set. */
export type ReservedKeys = {
  /** The labels that say which pool a node is in. */
  poolLabels: readonly string[];
  /** Labels that rollcall sets for other reasons. */
  ownLabels: readonly string[];
  /** Domains besides those of Kubernetes. */
  domains: readonly string[];
};

/** What no pool may set, given the configuration. */
export function reservedKeys(options: {
  services: readonly Service[];
  poolLabels: readonly string[];
  forbiddenLabelDomains: readonly string[];
}): ReservedKeys {
  const ownLabels = options.services.map(({ label }) => label);
  return { poolLabels: options.poolLabels, ownLabels, domains: options.forbiddenLabelDomains };
}

export type RefusedKey = { key: string; reason: string };

/**
 * What of a pool's labels can be set, and why the rest can not. One bad key says nothing about the others. A label that
 * says which pool it is, as Banzai's own examples have it, is neither: its nodes are in that pool already.
 */
export function sortPoolLabels(
  { labels, pool }: { labels: Readonly<Record<string, string>>; pool: string },
  reserved: ReservedKeys,
): { accepted: Map<string, string>; refused: RefusedKey[] } {
  const accepted = new Map<string, string>();
  const refused: RefusedKey[] = [];
  for (const [key, value] of Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (reserved.poolLabels.includes(key) && value === pool) continue;
    const reason = problemOf(key, value, reserved);
    if (reason === undefined) accepted.set(key, value);
    else refused.push({ key, reason });
  }
  return { accepted, refused };
}

/** Whether a key is never removed from a node, although it is listed as set by its pool. */
export function isUntouchable(key: string, { poolLabels, ownLabels }: ReservedKeys): boolean {
  return poolLabels.includes(key) || ownLabels.includes(key) || reservedDomainOf(key, KUBERNETES_DOMAINS) !== undefined;
}

function problemOf(key: string, value: string, { poolLabels, ownLabels, domains }: ReservedKeys): string | undefined {
  if (!isLabelKey(key)) return 'is not a valid label key';
  if (!isLabelValue(value)) return 'has a value that no label may have';
  if (poolLabels.includes(key)) return 'says which pool a node is in';
  if (ownLabels.includes(key)) return 'is set by rollcall for another reason';
  if (key === MANAGED_LABELS_ANNOTATION) return 'is the annotation that lists the labels of pools';
  const domain = reservedDomainOf(key, [...KUBERNETES_DOMAINS, ...domains]);
  return domain === undefined ? undefined : `is in the reserved domain ${domain}`;
}
