import { emptyRecord, type ObservedNode } from '../../fleet/observed-node.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import { isList, listedOn, shortenList } from './lists.ts';
import {
  type AskSetAside,
  type KeyRef,
  keyRefs,
  type NodePlan,
  type NodeSet,
  type SetAsideKey,
  withdrawalOf,
} from './plan.ts';
import { planConditions } from './plan-conditions.ts';
import { withServiceKeys } from './plan-service-keys.ts';
import { planTaints } from './plan-taints.ts';

/** What has to be written so that `node` is as `intent` says; `undefined` when it is so already. */
export function planNode(node: ObservedNode, intent: NodeIntent, askSetAside: AskSetAside): NodePlan | undefined {
  const claimed = [...intent.values()].filter(isMetadata);
  const taints = withServiceKeys(node, intent, planTaints(node, intent));
  const set: NodeSet = { labels: emptyRecord(), annotations: emptyRecord(), force: false };
  const put = (entry: MetadataEntry) => place(set, entry, valueToSet(entry, node, askSetAside));
  for (const entry of claimed) if (!isList(entry)) put(entry);
  const entries = claimed.map((entry) =>
    isList(entry) ? shortened(entry, node, { intent, set, askSetAside }) : entry,
  );
  for (const entry of entries) if (isList(entry)) put(entry);
  set.force = entries.some((entry) => entry.ownership !== 'shared' && isOverwritten(entry, node, set));
  // Force is for the whole request. A shared key that others may have a hand in changes without it, next time.
  const later = set.force
    ? entries.filter((entry) => entry.ownership === 'shared' && isOverwritten(entry, node, set))
    : [];
  for (const entry of later) place(set, entry, asItIs(entry, node));
  const withdrawn = keysToWithdraw(node, entries);
  const owned = keyRefs(node.owned.labels, node.owned.annotations);
  const isWrong = (ref: KeyRef) => valuesOf(set, ref)[ref.key] !== valuesOf(node, ref)[ref.key] || !isOwned(node, ref);
  const isReleased = (ref: KeyRef) => !withdrawn.has(entryKey(ref)) && !Object.hasOwn(valuesOf(set, ref), ref.key);
  const differs =
    keyRefs(Object.keys(set.labels), Object.keys(set.annotations)).some(isWrong) || owned.some(isReleased);
  const { change: conditions, foreign: foreignConditions } = planConditions(node, intent, askSetAside);
  const foreign = [...foreignConditions, ...foreignKeys(claimed, askSetAside)];
  if (!differs && withdrawn.size === 0 && !taints && !conditions && foreign.length === 0) return undefined;
  const plan: NodePlan = { node: { name: node.name, uid: node.uid, resourceVersion: node.resourceVersion } };
  if (withdrawn.size > 0) plan.withdrawal = withdrawalOf([...withdrawn.values()]);
  const ahead = [...withdrawn.values()].filter(isAboutService);
  if (ahead.length > 0) plan.ahead = ahead.map(({ key }) => key);
  if (differs) plan.set = set;
  if (taints) plan.taints = taints;
  if (conditions) plan.conditions = conditions;
  if (foreign.length > 0) plan.foreign = foreign;
  return plan;
}

/**
 * The list of what it may name: labels that the set has as they are wanted, and those that it named before and that are
 * there, or that a rival has changed: whose such a label is does not hang on which watch told first. A label that is
 * left out for now does not become ours by being listed.
 */
function shortened(
  entry: MetadataEntry,
  node: ObservedNode,
  { intent, set, askSetAside }: { intent: NodeIntent; set: NodeSet; askSetAside: AskSetAside },
): MetadataEntry {
  if (entry.stance !== 'want') return entry;
  const before = listedOn(node, entry.key);
  const isOurs = (key: string) => {
    if (before.has(key) && node.labels[key] !== undefined) return true;
    const label = intent.get(entryKey({ kind: 'label', key }));
    if (label === undefined || label.ownership === 'shared') return false;
    if (set.labels[key] === label.value) return true;
    return before.has(key) && isRivalled(askSetAside({ kind: 'label', key }, label.value));
  };
  const value = shortenList(entry.value, isOurs);
  if (value !== undefined) return { ...entry, value };
  return { ...entry, stance: 'withhold', value: '', ...(isOwned(node, entry) ? {} : { ownership: 'exclusive' }) };
}

function isRivalled(cause: ReturnType<AskSetAside>): boolean {
  return cause === 'foreign' || cause === 'contested';
}

/** What is left to somebody else, and was not set aside for it yet. */
function foreignKeys(entries: readonly MetadataEntry[], askSetAside: AskSetAside): SetAsideKey[] {
  return entries
    .filter((entry) => entry.isForeign && askSetAside(entry, entry.value) === undefined)
    .map(({ kind, key, value, reason }) => ({ kind, key, cause: 'foreign', wanted: value, message: reason }));
}

type MetadataEntry = IntentEntry & KeyRef;

function isMetadata(entry: IntentEntry): entry is MetadataEntry {
  return entry.kind === 'label' || entry.kind === 'annotation';
}

/** Keys that are on the node and should not be: exclusive ones whoever put them there, and what a predecessor left. */
function keysToWithdraw(node: ObservedNode, entries: readonly MetadataEntry[]): Map<string, MetadataEntry> {
  const withdrawn = new Map<string, MetadataEntry>();
  for (const entry of entries) {
    const { kind, key, stance, ownership } = entry;
    if (stance !== 'withhold' || valuesOf(node, entry)[key] === undefined) continue;
    const isLeftOver = ownership === 'forced' && kind === 'annotation' && node.inherited.has(key);
    if (ownership === 'exclusive' || isLeftOver) withdrawn.set(entryKey(entry), entry);
  }
  return withdrawn;
}

/** Pods are scheduled by such a label: it waits for nothing else. */
function isAboutService({ kind, sinceMs }: MetadataEntry): boolean {
  return kind === 'label' && sinceMs !== undefined;
}

/**
 * What goes into the apply for this key; `undefined` leaves it out, which releases it where it was ours. What was refused
 * stays as it is. What is somebody else's is left to them, unless it has force and can be seen.
 */
function valueToSet(entry: MetadataEntry, node: ObservedNode, askSetAside: AskSetAside): string | undefined {
  if (entry.stance === 'withhold') return undefined;
  if (entry.stance === 'hold') return heldValue(entry, node, askSetAside);
  const cause = askSetAside(entry, entry.value);
  if (cause === undefined) return entry.value;
  if (cause !== 'foreign') return asItIs(entry, node);
  const observed = valuesOf(node, entry)[entry.key];
  const isTaken = entry.ownership !== 'shared' && observed !== undefined && observed !== entry.value;
  return isTaken ? entry.value : undefined;
}

/** What somebody else has taken meanwhile is theirs, although the watch still shows it as ours. */
function heldValue(ref: KeyRef, node: ObservedNode, askSetAside: AskSetAside): string | undefined {
  const value = asItIs(ref, node);
  return value !== undefined && askSetAside(ref, value) === 'foreign' ? undefined : value;
}

/** What keeps the key as it is, if it is ours. */
function asItIs(ref: KeyRef, node: ObservedNode): string | undefined {
  return isOwned(node, ref) ? valuesOf(node, ref)[ref.key] : undefined;
}

function place(set: NodeSet, ref: KeyRef, value: string | undefined): void {
  if (value === undefined) delete valuesOf(set, ref)[ref.key];
  else valuesOf(set, ref)[ref.key] = value;
}

/** Whether the set gives the key another value than it has on the node. */
function isOverwritten(ref: KeyRef, node: ObservedNode, set: NodeSet): boolean {
  const [observed, value] = [valuesOf(node, ref)[ref.key], valuesOf(set, ref)[ref.key]];
  return observed !== undefined && value !== undefined && value !== observed;
}

function isOwned(node: ObservedNode, { kind, key }: KeyRef): boolean {
  return (kind === 'label' ? node.owned.labels : node.owned.annotations).has(key);
}

function valuesOf<T>(holder: { labels: T; annotations: T }, { kind }: KeyRef): T {
  return kind === 'label' ? holder.labels : holder.annotations;
}
