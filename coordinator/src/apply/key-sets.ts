import { type KeyRef, keyRefs, type NodeSet, type NodeWithdrawal, withdrawalOf } from '../intent/plan.ts';

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

/** The same set with these keys only. */
export function restrictSet(set: NodeSet, refs: readonly KeyRef[]): NodeSet {
  const { labels, annotations } = withdrawalOf(refs);
  const pick = (values: Record<string, string>, keys: readonly string[]) =>
    Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(values, key) ? [[key, values[key] ?? '']] : [])));
  return { labels: pick(set.labels, labels), annotations: pick(set.annotations, annotations), force: set.force };
}
