import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import { isOfService, keysOn, listedKey, splitListed } from '../../state/node-keys.ts';
import { NO_CONDITION_OWNERS } from '../../state/observed-conditions.ts';
import { emptyRecord, type ObservedNode } from '../../state/observed-node.ts';
import { formatManagedLabels, parseManagedLabels } from '../labelers/pool-keys.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import { KINDS, wantedValue } from './kinds/kinds.ts';
import { isOwnerless, isRivalled } from './kinds/label.ts';
import { isOwned, keysOfSet, ownValue, place, valuesOf } from './kinds/metadata.ts';
import { isList, listedOn } from './lists.ts';
import {
  type AskSkipped,
  type ForeignKey,
  type KeyRef,
  keyRefs,
  NOTHING_SKIPPED,
  type NodePlan,
  type NodeSet,
  withdrawalOf,
} from './plan.ts';
import { KEYS, listedWithTaints, planKeys } from './plan-keys.ts';

/** Plans the writes that make `node` match `intent`; `undefined` if it matches already. */
export function planNode(node: ObservedNode, wanted: NodeIntent, askSkipped: AskSkipped): NodePlan | undefined {
  const intent = keepingSkipped(wanted, askSkipped);
  const claimed = [...intent.values()].filter(isMetadata);
  const set: NodeSet = { labels: emptyRecord(), annotations: emptyRecord(), force: false };
  const put = (entry: MetadataEntry) => place(set, entry, valueToSet(entry, node, askSkipped));
  for (const entry of claimed) if (!isList(entry)) put(entry);
  for (const ref of unclaimedSkipped(node, intent, askSkipped)) place(set, ref, ownValue(node, ref));
  const entries = claimed.map((entry) => (isList(entry) ? poolList(entry, node, { intent, set, askSkipped }) : entry));
  for (const entry of entries) if (isList(entry)) put(entry);
  const mayForce = (entry: MetadataEntry) => entry.ownership !== 'shared' || isOwnerless(node, entry);
  // Force is for the whole request. A shared key that others may have a hand in changes without it, next time.
  const takeForce = () => {
    set.force = true;
    for (const entry of entries)
      if (!mayForce(entry) && isOverwritten(entry, node, set)) place(set, entry, ownValue(node, entry));
  };
  if (entries.some((entry) => mayForce(entry) && isOverwritten(entry, node, set))) takeForce();
  const withdrawn = keysToWithdraw(node, entries);
  const isWrong = (ref: KeyRef) => valuesOf(set, ref)[ref.key] !== valuesOf(node, ref)[ref.key] || !isOwned(node, ref);
  const isReleased = (ref: KeyRef) =>
    ref.key !== KEYS.key && !withdrawn.has(entryKey(ref)) && !Object.hasOwn(valuesOf(set, ref), ref.key);
  const isWritten = () =>
    keysOfSet(set).some(isWrong) || keyRefs(node.owned.labels, node.owned.annotations).some(isReleased);
  const planList = () => planKeys(node, intent, { set, askSkipped, withdrawn, isWritten: isWritten() });
  let list = planList();
  const isTaken = list.takesForce;
  if (isTaken && !set.force) {
    takeForce();
    list = planList();
  }
  for (const ref of list.obsolete) if (!askSkipped(ref, undefined)) withdrawn.set(entryKey(ref), ref);
  const isListed = isTaken || list.text !== node.annotations[KEYS.key];
  if (list.text !== undefined && (isListed || isOwned(node, KEYS))) set.annotations[KEYS.key] = list.text;
  const differs = isWritten() || (isListed && !withdrawn.has(entryKey(KEYS)));
  const foreign = foreignKeys(claimed, askSkipped);
  const plan: NodePlan = { node: { name: node.name, uid: node.uid, resourceVersion: node.resourceVersion } };
  for (const planKind of PLANNERS) {
    const own = planKind(node, intent, askSkipped);
    if (own.foreign) foreign.push(...own.foreign);
    Object.assign(plan, own);
  }
  if (withdrawn.size > 0) plan.withdrawal = withdrawalOf([...withdrawn.values()]);
  const ahead = claimed.filter((entry) => withdrawn.has(entryKey(entry)) && isAboutService(entry));
  if (ahead.length > 0) plan.ahead = ahead.map(({ key }) => key);
  if (differs) plan.set = set;
  if (plan.taints) plan.taints = { ...plan.taints, ...listedWithTaints(plan.taints, node, intent) };
  if (foreign.length > 0) plan.foreign = foreign;
  return Object.keys(plan).length > 1 ? plan : undefined;
}

/** Labels and annotations share their requests; every other kind has one of its own. */
const PLANNERS = Object.values(KINDS).flatMap(({ plan }) => plan ?? []);

/**
 * The intent in which keys stay as they are whose removal is left out for now, and so do wanted keys of some kinds. What
 * lists them goes on listing them.
 */
function keepingSkipped(intent: NodeIntent, askSkipped: AskSkipped): NodeIntent {
  if (askSkipped === NOTHING_SKIPPED) return intent;
  const kept = new Map<string, IntentEntry>();
  for (const [id, entry] of intent) {
    const { kind, stance } = entry;
    if (stance === 'keep' || (stance === 'present' && !KINDS[kind].staysIfSkipped)) continue;
    if (askSkipped(entry, stance === 'present' ? wantedValue(entry) : undefined))
      kept.set(id, { ...entry, stance: 'keep' });
  }
  return kept.size === 0 ? intent : new Map([...intent, ...kept]);
}

/** Keys that rollcall applied, that nothing requests, and whose removal is left out for now. */
function unclaimedSkipped({ owned }: ObservedNode, intent: NodeIntent, askSkipped: AskSkipped): KeyRef[] {
  if (askSkipped === NOTHING_SKIPPED) return [];
  const isSkipped = (ref: KeyRef) => !isList(ref) && !intent.has(entryKey(ref)) && askSkipped(ref, undefined);
  return keyRefs(owned.labels, owned.annotations).filter(isSkipped);
}

/**
 * The list of a pool's labels: labels of the set that are as wanted, listed labels that stay for now, also if a rival
 * changed them, since the owner of such a label does not depend on the order in which watches deliver. A label that is
 * left out for now does not become ours by being listed.
 */
function poolList(
  entry: MetadataEntry,
  node: ObservedNode,
  { intent, set, askSkipped }: { intent: NodeIntent; set: NodeSet; askSkipped: AskSkipped },
): MetadataEntry {
  if (entry.stance === 'keep') return entry;
  const before = listedOn(node, entry.key);
  const labelOf = (key: string) => intent.get(entryKey({ kind: 'label', key }));
  const isOurs = (key: string) => {
    if (before.has(key) && node.labels[key] !== undefined) return true;
    const label = labelOf(key);
    if (label === undefined || label.ownership === 'shared') return false;
    if (set.labels[key] === label.value) return true;
    return before.has(key) && isRivalled(askSkipped({ kind: 'label', key }, label.value));
  };
  const wanted = entry.stance === 'present' ? (parseManagedLabels(entry.value) ?? []) : [];
  const held = [...before].filter((key) => labelOf(key)?.stance === 'keep' && labelOf(key)?.origin === 'pool');
  const names = [...wanted, ...held].filter(isOurs);
  if (names.length > 0) return { ...entry, stance: 'present', value: formatManagedLabels(new Set(names)) };
  return { ...entry, stance: 'absent', value: '', ...(isOwned(node, entry) ? {} : { ownership: 'exclusive' }) };
}

/** Keys that are left to another writer, and were not skipped for that reason yet. */
function foreignKeys(entries: readonly MetadataEntry[], askSkipped: AskSkipped): ForeignKey[] {
  return entries
    .filter((entry) => entry.isForeign && askSkipped(entry, entry.value) === undefined)
    .map(({ kind, key, value, reason }) => ({ kind, key, cause: 'foreign', wanted: value, message: reason }));
}

type MetadataEntry = IntentEntry & KeyRef;

function isMetadata(entry: IntentEntry): entry is MetadataEntry {
  return entry.kind === 'label' || entry.kind === 'annotation';
}

/** Keys that are on the node and should not be: exclusive ones of any owner, and keys that a predecessor left. */
function keysToWithdraw(node: ObservedNode, entries: readonly MetadataEntry[]): Map<string, KeyRef> {
  const withdrawn = new Map<string, KeyRef>();
  for (const entry of entries) {
    const { kind, key, stance, ownership } = entry;
    if (stance !== 'absent' || valuesOf(node, entry)[key] === undefined) continue;
    const isLeftOver = ownership === 'forced' && kind === 'annotation' && node.inherited.has(key);
    if (ownership === 'exclusive' || isLeftOver || isOwnerless(node, entry)) withdrawn.set(entryKey(entry), entry);
  }
  return withdrawn;
}

/** Pods are scheduled by such a label: it waits for nothing else. */
function isAboutService({ kind, sinceMs }: MetadataEntry): boolean {
  return kind === 'label' && sinceMs !== undefined;
}

/**
 * The value that goes into the apply for this key; `undefined` leaves it out, which releases it where it was ours. A
 * refused key stays as it is. A key of another writer is left alone, unless the claim has force and the value can be
 * seen.
 */
function valueToSet(entry: MetadataEntry, node: ObservedNode, askSkipped: AskSkipped): string | undefined {
  if (entry.stance === 'absent') return undefined;
  if (entry.stance === 'keep') return heldValue(entry, node, askSkipped);
  const cause = askSkipped(entry, entry.value);
  if (cause === undefined) return entry.value;
  if (cause !== 'foreign') return ownValue(node, entry);
  const observed = valuesOf(node, entry)[entry.key];
  const isTaken = entry.ownership !== 'shared' && observed !== undefined && observed !== entry.value;
  return isTaken ? entry.value : undefined;
}

/**
 * The value to keep. A key that another writer has taken meanwhile is theirs, although the watch still shows it as
 * ours.
 */
function heldValue(ref: KeyRef, node: ObservedNode, askSkipped: AskSkipped): string | undefined {
  const value = ownValue(node, ref);
  return value !== undefined && askSkipped(ref, value) === 'foreign' ? undefined : value;
}

/** Whether the set gives the key another value than it has on the node. */
function isOverwritten(ref: KeyRef, node: ObservedNode, set: NodeSet): boolean {
  const [observed, value] = [valuesOf(node, ref)[ref.key], valuesOf(set, ref)[ref.key]];
  return observed !== undefined && value !== undefined && value !== observed;
}

/**
 * The plan that removes everything that rollcall owns on a node. Keys in the registry, and keys that the node lists for
 * its pool or for services, also for services that no longer exist, go whatever their owner. Other keys that rollcall
 * applied go, unless others applied them as well.
 */
export function prunePlan(
  node: ObservedNode,
  keys: KeyRegistry,
  askSkipped: AskSkipped = NOTHING_SKIPPED,
): NodePlan | undefined {
  const gone = (ref: Pick<IntentEntry, 'kind' | 'key' | 'origin'>): [string, IntentEntry] => [
    entryKey(ref),
    {
      ...ref,
      value: 'true',
      stance: 'absent',
      ownership: 'exclusive',
      cause: 'configuration',
      reason: 'rollcall is being removed',
      labeler: 'prune',
      overruled: [],
    },
  ];
  const { ours } = node.conditionOwners ?? NO_CONDITION_OWNERS;
  const listed = [...keysOn(node)].flatMap(([id, origin]) => {
    const ref = splitListed(id);
    // Keys of rules, devices and facts are released instead: others may have set them as well.
    const isTaken = origin === 'pool' || (isOfService(origin) && origin !== 'rule:service');
    return ref && isTaken && !keys.isUntouchable(ref.kind, ref.key) ? [gone({ ...ref, origin })] : [];
  });
  // What giving up does not remove, since managedFields were reset: the list tells whose it is.
  const ownerless = [...(node.ownerless ?? [])].flatMap((key) => {
    const origin = keysOn(node).get(listedKey('label', key));
    return keys.isUntouchable('label', key) ? [] : [gone({ kind: 'label', key, ...(origin && { origin }) })];
  });
  const taints = (node.taints ?? [])
    .filter(({ key }) => keys.isTaintOfServices(key))
    .map(({ key }) => gone({ kind: 'taint', key, origin: 'service:' }));
  const applied = [...ours].filter((key) => !keys.isUntouchable('condition', key));
  const named = keys.entries.flatMap(({ kind, keys: which, prune }) =>
    prune === 'remove' && 'name' in which ? [gone({ kind, key: which.name })] : [],
  );
  const nothing: NodeIntent = new Map([
    ...ownerless,
    ...taints,
    ...listed,
    ...applied.map((key) => gone({ kind: 'condition', key, origin: 'service:' })),
    ...named,
  ]);
  return planNode(node, nothing, askSkipped);
}
