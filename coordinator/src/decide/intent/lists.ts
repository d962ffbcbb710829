import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { LISTING_ANNOTATIONS } from '../../model/keys/own-keys.ts';
import { formatKeys, keysOn, listedKey, listedOf, parseKeys, splitListed } from '../../state/node-keys.ts';
import { formatManagedLabels, parseManagedLabels } from '../labelers/pool-keys.ts';
import type { AnnotationChange, KeyRef } from './plan.ts';

/** An annotation that lists labels that are ours. */
export function isList({ kind, key }: KeyRef): boolean {
  return kind === 'annotation' && LISTING_ANNOTATIONS.has(key);
}

type Listing = { annotations: Readonly<Record<string, string>> };

/** The text of a list with some of its labels; `undefined` for none. What else it names stays. */
export function shortenList(list: string, text: string, isKept: (label: string) => boolean): string | undefined {
  if (list === KEYS_ANNOTATION) {
    const kept = [...parseKeys(text)].filter(([id]) => {
      const listed = splitListed(id);
      return listed?.kind !== 'label' || isKept(listed.key);
    });
    return formatKeys(new Map(kept));
  }
  const kept = [...(parseManagedLabels(text) ?? [])].filter(isKept);
  return kept.length > 0 ? formatManagedLabels(kept) : undefined;
}

/** The text of a list with these labels besides, which the Node lists. */
export function lengthenList(list: string, text: string | undefined, labels: Iterable<string>, seen: Listing): string {
  if (list !== KEYS_ANNOTATION) {
    return formatManagedLabels(new Set([...((text && parseManagedLabels(text)) || []), ...labels]));
  }
  const keys = parseKeys(text);
  for (const label of labels) {
    const id = listedKey('label', label);
    const origin = keysOn(seen).get(id);
    if (origin !== undefined) keys.set(id, origin);
  }
  return formatKeys(keys) ?? '{}';
}

/** The labels that a Node has in a list. */
export function listedOn(node: Listing, list: string): ReadonlySet<string> {
  if (list === KEYS_ANNOTATION) return listedOf(node, 'label');
  return parseManagedLabels(node.annotations[list]) ?? new Set();
}

/** The change of the list of keys without taints that are not written now: their entries stay as they were. */
export function withoutTaints(change: AnnotationChange, waiting: Iterable<string>): AnnotationChange | undefined {
  const before = parseKeys(change.before);
  const keys = parseKeys(change.after);
  for (const taint of waiting) {
    const id = listedKey('taint', taint);
    const origin = before.get(id);
    if (origin === undefined) keys.delete(id);
    else keys.set(id, origin);
  }
  const after = formatKeys(keys);
  return after === change.before ? undefined : { ...change, after };
}
