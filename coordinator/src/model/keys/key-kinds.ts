import { KUBERNETES_DOMAINS, reservedDomainOf } from '@rollcall/common/reserved-domains.ts';
import { KNOWN_TAINT_PREFIXES } from '@rollcall/common/well-known.ts';
import type { KeyKind } from './key-entry.ts';

/** What holds for every key of a kind, before anything is known of a Node. */
type KindFacts = {
  /** Whether Nodes list the key as rollcall's, with its origin. */
  isListed: boolean;
  /** By which ownership a key of a service goes: a condition is released, since its entry may be another writer's as well. */
  removal: 'exclusive' | 'shared';
  /** The domain of Kubernetes that reserves the key. */
  domainOf: (key: string) => string | undefined;
};

const domainOf = (key: string) => reservedDomainOf(key, KUBERNETES_DOMAINS);
const isKnownTaint = (key: string) => KNOWN_TAINT_PREFIXES.some((prefix) => key.startsWith(prefix));

export const KEY_KINDS = {
  label: { isListed: true, removal: 'exclusive', domainOf },
  annotation: { isListed: false, removal: 'exclusive', domainOf },
  taint: { isListed: true, removal: 'exclusive', domainOf: (key) => (isKnownTaint(key) ? undefined : domainOf(key)) },
  // Types of conditions are reserved by name.
  condition: { isListed: true, removal: 'shared', domainOf: () => undefined },
} as const satisfies Readonly<Record<KeyKind, KindFacts>>;

/** Kinds of keys that a Node lists. */
export type ListedKind = {
  [K in KeyKind]: (typeof KEY_KINDS)[K]['isListed'] extends true ? K : never;
}[KeyKind];

export const LISTED_KINDS = (Object.keys(KEY_KINDS) as KeyKind[]).filter(
  (kind): kind is ListedKind => KEY_KINDS[kind].isListed,
);
