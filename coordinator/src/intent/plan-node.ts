import { IMPLIED_LABELS_ANNOTATION, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { emptyRecord, type ObservedNode } from '../fleet/observed-node.ts';
import { formatManagedLabels, parseManagedLabels } from '../labelers/managed-labels.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import { type AskSetAside, type KeyRef, keyRefs, type NodePlan, type NodeSet, withdrawalOf } from './plan.ts';
import { planTaints } from './plan-taints.ts';

/** What has to be written so that `node` is as `intent` says; `undefined` when it is so already. */
export function planNode(node: ObservedNode, intent: NodeIntent, askSetAside: AskSetAside): NodePlan | undefined {
  const entries = [...intent.values()].filter(isMetadata);
  const withdrawn = keysToWithdraw(node, entries);
  const taints = planTaints(node, intent);
  const force = entries.some((entry) => isTakenOver(entry, node));
  const set: NodeSet = { labels: emptyRecord(), annotations: emptyRecord(), force };
  for (const entry of entries) {
    const value = valueToSet(entry, node, askSetAside, force);
    if (value !== undefined) valuesOf(set, entry)[entry.key] = value;
  }
  for (const key of LISTS) {
    const list = { kind: 'annotation', key } as const;
    const isEmpty = unlistSetAside(node, set, key) === 'empty';
    if (isEmpty && node.annotations[key] !== undefined) withdrawn.set(entryKey(list), list);
  }
  const owned = keyRefs(node.owned.labels, node.owned.annotations);
  const isWrong = (ref: KeyRef) => valuesOf(set, ref)[ref.key] !== valuesOf(node, ref)[ref.key] || !isOwned(node, ref);
  const isReleased = (ref: KeyRef) => !withdrawn.has(entryKey(ref)) && !Object.hasOwn(valuesOf(set, ref), ref.key);
  const differs =
    keyRefs(Object.keys(set.labels), Object.keys(set.annotations)).some(isWrong) || owned.some(isReleased);
  if (!differs && withdrawn.size === 0 && !taints) return undefined;
  const plan: NodePlan = { node: { name: node.name, uid: node.uid, resourceVersion: node.resourceVersion } };
  if (withdrawn.size > 0) plan.withdrawal = withdrawalOf([...withdrawn.values()]);
  if (differs) plan.set = set;
  if (taints) plan.taints = taints;
  return plan;
}

/** Annotations that list labels that are ours. */
const LISTS = [MANAGED_LABELS_ANNOTATION, IMPLIED_LABELS_ANNOTATION];

/** A label that is left out for now, and is not listed on the node, does not become ours by being listed. */
function unlistSetAside(node: ObservedNode, set: NodeSet, list: string): 'empty' | undefined {
  const text = set.annotations[list];
  if (text === undefined) return undefined;
  const before = parseManagedLabels(node.annotations[list]);
  const isOurs = (key: string) =>
    Object.hasOwn(set.labels, key) || (before?.has(key) && Object.hasOwn(node.labels, key));
  const kept = [...(parseManagedLabels(text) ?? [])].filter(isOurs);
  set.annotations[list] = formatManagedLabels(kept);
  if (kept.length > 0) return undefined;
  delete set.annotations[list];
  return 'empty';
}

type MetadataEntry = IntentEntry & KeyRef;

function isMetadata(entry: IntentEntry): entry is MetadataEntry {
  return entry.kind !== 'taint';
}

/** Keys that are on the node and should not be: exclusive ones whoever put them there, and what a predecessor left. */
function keysToWithdraw(node: ObservedNode, entries: readonly MetadataEntry[]): Map<string, KeyRef> {
  const refs = new Map<string, KeyRef>();
  for (const { kind, key, stance, ownership } of entries) {
    if (stance !== 'withhold' || valuesOf(node, { kind, key })[key] === undefined) continue;
    const isLeftOver = ownership === 'forced' && kind === 'annotation' && node.inherited.has(key);
    if (ownership === 'exclusive' || isLeftOver) refs.set(entryKey({ kind, key }), { kind, key });
  }
  return refs;
}

/** A key with force that somebody set to another value: it has to be taken from them by force. */
function isTakenOver(entry: MetadataEntry, node: ObservedNode): boolean {
  const observed = valuesOf(node, entry)[entry.key];
  const elsewhere = observed !== undefined && observed !== entry.value;
  return entry.stance === 'want' && entry.ownership !== 'shared' && elsewhere;
}

/** What goes into the apply for this key; `undefined` leaves it out, which releases it where it was ours. */
function valueToSet(
  entry: MetadataEntry,
  node: ObservedNode,
  askSetAside: AskSetAside,
  force: boolean,
): string | undefined {
  const observed = valuesOf(node, entry)[entry.key];
  if (entry.stance === 'withhold') return undefined;
  if (entry.stance === 'hold') return isOwned(node, entry) ? observed : undefined;
  const cause = askSetAside(entry, entry.value);
  // That a key with force is somebody else's is no reason to leave it to them, once it can be seen.
  if (cause !== undefined && !(cause === 'foreign' && isTakenOver(entry, node))) return undefined;
  // Force is for the whole request. A shared key that others may have a hand in changes without it, next time.
  const mayBeForeign = entry.ownership === 'shared' && observed !== undefined && observed !== entry.value;
  if (force && mayBeForeign) return isOwned(node, entry) ? observed : undefined;
  return entry.value;
}

function isOwned(node: ObservedNode, { kind, key }: KeyRef): boolean {
  return (kind === 'label' ? node.owned.labels : node.owned.annotations).has(key);
}

function valuesOf<T>(holder: { labels: T; annotations: T }, { kind }: KeyRef): T {
  return kind === 'label' ? holder.labels : holder.annotations;
}
