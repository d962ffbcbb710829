import { LISTING_ANNOTATIONS } from '../../setup/keys/own-keys.ts';
import { formatManagedLabels, parseManagedLabels } from '../labelers/managed-labels.ts';
import type { KeyRef } from './plan.ts';

/** An annotation that lists labels that are ours. */
export function isList({ kind, key }: KeyRef): boolean {
  return kind === 'annotation' && LISTING_ANNOTATIONS.has(key);
}

/** The text of a list with some of its keys; `undefined` for none. */
export function shortenList(list: string, isKept: (key: string) => boolean): string | undefined {
  const kept = [...(parseManagedLabels(list) ?? [])].filter(isKept);
  return kept.length > 0 ? formatManagedLabels(kept) : undefined;
}

type Listing = { annotations: Readonly<Record<string, string>> };

/** The keys that a Node has in a list. */
export function listedOn({ annotations }: Listing, list: string): ReadonlySet<string> {
  return parseManagedLabels(annotations[list]) ?? new Set();
}

/** Those of them that are there. */
export function listedThere(
  node: Listing & { labels: Readonly<Record<string, string>> },
  list: string,
): ReadonlySet<string> {
  return new Set([...listedOn(node, list)].filter((key) => node.labels[key] !== undefined));
}
