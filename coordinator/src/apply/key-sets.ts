import { entryKey } from '../intent/intent.ts';
import { type KeyRef, keyRefs, type NodeSet, type NodeWithdrawal } from '../intent/plan.ts';
import type { SeenNode } from './set-aside.ts';

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

/** The same set with these keys only. Of the others, those that are ours stay as they are on the Node. */
export function restrictSet(set: NodeSet, refs: readonly KeyRef[], seen: SeenNode | undefined): NodeSet {
  const restricted: NodeSet = { labels: {}, annotations: {}, force: set.force };
  const picked = new Set(refs.map(entryKey));
  for (const ref of keysOfSet(set)) {
    const value = picked.has(entryKey(ref)) ? valueIn(set, ref) : ownValue(seen, ref);
    if (value !== undefined) restricted[ref.kind === 'label' ? 'labels' : 'annotations'][ref.key] = value;
  }
  return restricted;
}

function ownValue(seen: SeenNode | undefined, ref: KeyRef): string | undefined {
  const owned = ref.kind === 'label' ? seen?.owned.labels : seen?.owned.annotations;
  return seen && owned?.has(ref.key) ? valueIn(seen, ref) : undefined;
}
