/** What labels and annotations have in common: one apply sets them, and one merge patch of nulls removes them. */

import type { ObservedNode } from '../../../state/observed-node.ts';
import { entryKey } from '../intent.ts';
import { isList, lengthenList, listedOn, shortenList } from '../lists.ts';
import { type KeyRef, keyRefs, type NodeKeyRef, type NodePlan, type NodeSet, withdrawalOf } from '../plan.ts';
import { applyPatch, type KeyChange, type KeyModule, type SeenNode, type Write, type WriteModule } from './kind.ts';

const FIELDS = { label: 'labels', annotation: 'annotations' } as const;

export function metadataKind(kind: KeyRef['kind'], isWellFormed: KeyModule['isWellFormed'] & object): KeyModule {
  const field = FIELDS[kind];
  const path = `metadata.${field}`;
  return {
    field: path,
    isShown: () => true,
    valueOn: (node, key) => valuesOf(node, { kind })[key],
    wantedValue: ({ value }) => value,
    planned: (plan, node) => planned(field, plan, node),
    ownedAs: (key) => ['f:metadata', `f:${field}`, `f:${key}`],
    keyIn: (named) => (named.startsWith(`${path}.`) ? named.slice(path.length + 1) : undefined),
    isWellFormed,
  };
}

function planned(
  field: 'labels' | 'annotations',
  { withdrawal, set }: NodePlan,
  node: ObservedNode,
): [string, string | undefined][] {
  const gone = (keys: readonly string[]) => keys.map((key): [string, undefined] => [key, undefined]);
  if (!set) return gone(withdrawal?.[field] ?? []);
  // What is let go of stays where another writer owns it as well.
  const shared = field === 'labels' ? node.shared : undefined;
  const released = [...node.owned[field]].filter((key) => !shared?.has(key));
  return [...gone(withdrawal?.[field] ?? []), ...gone(released), ...Object.entries(set[field])];
}

/** The labels of a holder for the reference to a label, its annotations for one to an annotation. */
export function valuesOf<T>(holder: { labels: T; annotations: T }, { kind }: Pick<KeyRef, 'kind'>): T {
  return kind === 'label' ? holder.labels : holder.annotations;
}

type Values = Readonly<Record<string, string>>;

export function valueIn(holder: { labels: Values; annotations: Values }, ref: KeyRef): string | undefined {
  const values = valuesOf(holder, ref);
  return Object.hasOwn(values, ref.key) ? values[ref.key] : undefined;
}

/** Whether rollcall applied it. */
export function isOwned({ owned }: Pick<SeenNode, 'owned'>, ref: KeyRef): boolean {
  return valuesOf(owned, ref).has(ref.key);
}

/** The value on the Node where it is ours, by which an apply keeps it as it is. */
export function ownValue(node: SeenNode | undefined, ref: KeyRef): string | undefined {
  return node && isOwned(node, ref) ? valueIn(node, ref) : undefined;
}

export function keysOfSet({ labels, annotations }: { labels: Values; annotations: Values }): KeyRef[] {
  return keyRefs(Object.keys(labels), Object.keys(annotations));
}

type SetWrite = Extract<Write, { write: 'set' }>;

/** Makes a set all that rollcall applies to the metadata of a Node. */
export const setWrite: WriteModule<SetWrite> = {
  steps: ({ set }) => (set ? [{ write: 'set', set, urgent: false }] : []),
  patch: ({ set: { labels, annotations, force } }, node, isBound) => {
    const metadata = {
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    };
    return applyPatch(node, { force, isBound, metadata });
  },
  changes: ({ set }) =>
    keysOfSet(set).map((ref): KeyChange => ({ ...ref, wanted: valueIn(set, ref), keepsAway: false })),
  // Lists of labels are in every part, with the labels of that part: a label may be refused because it is not listed.
  suspects: ({ set }, seen) => [
    ...keysOfSet(set).filter((ref) => isChanged(set, ref, seen)),
    ...(seen ? releasedKeys(set, seen).filter((ref) => !isList(ref)) : []),
  ],
  part: ({ set }, suspects, seen) => {
    const unchanged = keysOfSet(set).filter((ref) => !isChanged(set, ref, seen));
    return { write: 'set', set: restrictSet(set, [...unchanged, ...suspects.filter(isMetadata)], seen) };
  },
  released: ({ set }, seen) => releasedKeys(set, seen),
};

/** An admission policy can afford to look at so many keys that go at once. */
const WITHDRAWAL_MAX = 250;

/**
 * Removes keys, even of other owners. A merge patch of nulls carries nothing else: a value that it set would belong to a
 * second entry of the field manager, which no later apply cleans up.
 */
export const withdrawWrite: WriteModule<Extract<Write, { write: 'withdraw' }>> = {
  steps: ({ withdrawal, ahead = [] }, isDone) => {
    const keys = withdrawal ? keyRefs(withdrawal.labels, withdrawal.annotations).filter((ref) => !isDone(ref)) : [];
    const first = keys.filter(({ kind, key }) => kind === 'label' && ahead.includes(key));
    // Annotations come last: they say which labels may go.
    const [part, urgent] = first.length > 0 ? [first, true] : [keys.slice(0, WITHDRAWAL_MAX), false];
    return part.length > 0 ? [{ write: 'withdraw', keys: withdrawalOf(part), urgent }] : [];
  },
  patch: ({ keys: { labels, annotations } }, { uid, resourceVersion }, isBound) => {
    const version = isBound ? { resourceVersion } : {};
    const metadata = { uid, ...version, ...nulls('labels', labels), ...nulls('annotations', annotations) };
    return { form: 'merge', body: { metadata } };
  },
  changes: ({ keys: { labels, annotations } }) =>
    keyRefs(labels, annotations).map((ref) => ({ ...ref, wanted: undefined, keepsAway: true })),
  suspects: ({ keys: { labels, annotations } }) => keyRefs(labels, annotations),
  part: (_write, suspects) => ({ write: 'withdraw', keys: withdrawalOf(suspects.filter(isMetadata)) }),
};

function isMetadata(ref: NodeKeyRef): ref is KeyRef {
  return ref.kind in FIELDS;
}

/** Nothing at all rather than an empty map. */
function nulls(field: 'labels' | 'annotations', keys: readonly string[]): Record<string, Record<string, null>> {
  return keys.length === 0 ? {} : { [field]: Object.fromEntries(keys.map((key) => [key, null])) };
}

function isChanged(set: NodeSet, ref: KeyRef, seen: SeenNode | undefined): boolean {
  return !isList(ref) && (!seen || valueIn(seen, ref) !== valueIn(set, ref));
}

/** What a set lets go of. */
function releasedKeys(set: NodeSet, { owned }: SeenNode): KeyRef[] {
  return keyRefs(owned.labels, owned.annotations).filter((ref) => valueIn(set, ref) === undefined);
}

/**
 * The same set with these changes and releases only. Of the other keys, those that are ours stay as they are on the Node.
 * What lists labels names none that is left out, unless it did before: a label that is not ours is not listed.
 */
export function restrictSet(set: NodeSet, refs: readonly KeyRef[], seen: SeenNode | undefined): NodeSet {
  const restricted: NodeSet = { labels: {}, annotations: {}, force: set.force };
  const picked = new Set(refs.map(entryKey));
  for (const ref of keysOfSet(set))
    place(restricted, ref, picked.has(entryKey(ref)) ? valueIn(set, ref) : ownValue(seen, ref));
  for (const ref of keysOfSet(restricted).filter((each) => isList(each) && picked.has(entryKey(each)))) {
    const before = seen && listedOn(seen, ref.key);
    const isSet = (key: string) => before?.has(key) || Object.hasOwn(restricted.labels, key);
    place(restricted, ref, shortenList(ref.key, valueIn(restricted, ref) ?? '', isSet) ?? ownValue(seen, ref));
  }
  if (!seen) return restricted;
  const others = releasedKeys(set, seen).filter((ref) => !picked.has(entryKey(ref)));
  return keepingIn(restricted, others, seen);
}

/** Gives a key its value in a set; `undefined` leaves it out, which releases it where it was ours. */
export function place(set: NodeSet, ref: KeyRef, value: string | undefined): void {
  if (value === undefined) delete valuesOf(set, ref)[ref.key];
  else valuesOf(set, ref)[ref.key] = value;
}

/** The set without letting go of these keys: they stay as they are on the Node, and in the lists that name them. */
export function keepingIn(set: NodeSet, refs: readonly KeyRef[], seen: SeenNode): NodeSet {
  const kept: NodeSet = { ...set, labels: { ...set.labels }, annotations: { ...set.annotations } };
  const left = refs.filter(
    (ref) => !isList(ref) && valueIn(set, ref) === undefined && valueIn(seen, ref) !== undefined,
  );
  for (const ref of left) place(kept, ref, ownValue(seen, ref));
  const labels = new Set(left.flatMap(({ kind, key }) => (kind === 'label' ? key : [])));
  for (const list of Object.keys(seen.annotations).filter((key) => isList({ kind: 'annotation', key }))) {
    // No apply lets go of a list that none of ours wrote.
    if (kept.annotations[list] === undefined && !seen.owned.annotations.has(list)) continue;
    const named = listedOn(seen, list).intersection(labels);
    if (named.size > 0) kept.annotations[list] = lengthenList(list, kept.annotations[list], named, seen);
  }
  return kept;
}
