import { entryKey } from '../decide/intent/intent.ts';
import { isList, lengthenList, listedOn, shortenList } from '../decide/intent/lists.ts';
import { type KeyRef, keyRefs, type NodeSet, type NodeWithdrawal } from '../decide/intent/plan.ts';
import type { SeenNode } from './seen-node.ts';

type Values = { labels: Readonly<Record<string, string>>; annotations: Readonly<Record<string, string>> };

export function keysOfSet({ labels, annotations }: Values): KeyRef[] {
  return keyRefs(Object.keys(labels), Object.keys(annotations));
}

export function keysOfWithdrawal({ labels, annotations }: NodeWithdrawal): KeyRef[] {
  return keyRefs(labels, annotations);
}

export function valueIn(values: Values, { kind, key }: KeyRef): string | undefined {
  const map = kind === 'label' ? values.labels : values.annotations;
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/**
 * The same set with these changes and releases only. Of the other keys, those that are ours stay as they are on the Node.
 * What lists labels names none that is left out, unless it did before: a label that is not ours is not listed.
 */
export function restrictSet(set: NodeSet, refs: readonly KeyRef[], seen: SeenNode | undefined): NodeSet {
  const restricted: NodeSet = { labels: {}, annotations: {}, force: set.force };
  const picked = new Set(refs.map(entryKey));
  for (const ref of keysOfSet(set)) {
    const value = picked.has(entryKey(ref)) ? valueIn(set, ref) : ownValue(seen, ref);
    if (value !== undefined) restricted[ref.kind === 'label' ? 'labels' : 'annotations'][ref.key] = value;
  }
  for (const ref of keysOfSet(restricted).filter((each) => isList(each) && picked.has(entryKey(each)))) {
    const before = seen && listedOn(seen, ref.key);
    const isSet = (key: string) => before?.has(key) || Object.hasOwn(restricted.labels, key);
    const value = shortenList(ref.key, restricted.annotations[ref.key] ?? '', isSet) ?? ownValue(seen, ref);
    if (value === undefined) delete restricted.annotations[ref.key];
    else restricted.annotations[ref.key] = value;
  }
  if (!seen) return restricted;
  const others = releasedKeys(set, seen).filter((ref) => !picked.has(entryKey(ref)));
  return keepingIn(restricted, others, seen);
}

/** What a set lets go of. */
export function releasedKeys(set: NodeSet, { owned }: SeenNode): KeyRef[] {
  return keyRefs(owned.labels, owned.annotations).filter((ref) => valueIn(set, ref) === undefined);
}

/** The set without letting go of these keys: they stay as they are on the Node, and in the lists that name them. */
export function keepingIn(set: NodeSet, refs: readonly KeyRef[], seen: SeenNode): NodeSet {
  const kept: NodeSet = { ...set, labels: { ...set.labels }, annotations: { ...set.annotations } };
  const labels = new Set<string>();
  for (const ref of refs) {
    if (isList(ref) || valueIn(set, ref) !== undefined || valueIn(seen, ref) === undefined) continue;
    const value = ownValue(seen, ref);
    if (value !== undefined) kept[ref.kind === 'label' ? 'labels' : 'annotations'][ref.key] = value;
    if (ref.kind === 'label') labels.add(ref.key);
  }
  for (const list of Object.keys(seen.annotations).filter((key) => isList({ kind: 'annotation', key }))) {
    // No apply lets go of a list that none of ours wrote.
    if (kept.annotations[list] === undefined && !seen.owned.annotations.has(list)) continue;
    const named = listedOn(seen, list).intersection(labels);
    if (named.size > 0) kept.annotations[list] = lengthenList(list, kept.annotations[list], named, seen);
  }
  return kept;
}

function ownValue(seen: SeenNode | undefined, ref: KeyRef): string | undefined {
  const owned = ref.kind === 'label' ? seen?.owned.labels : seen?.owned.annotations;
  return seen && owned?.has(ref.key) ? valueIn(seen, ref) : undefined;
}
