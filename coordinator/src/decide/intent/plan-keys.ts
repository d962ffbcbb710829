import { isOfService, keysOn, type NodeKeys, type Origin } from '../../fleet/node-keys.ts';
import type { ObservedNode } from '../../fleet/observed-node.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import type { AskSetAside, NodeSet, TaintChange } from './plan.ts';
import { conditionsToList } from './plan-conditions.ts';

type Written = { set: NodeSet; taints: TaintChange | undefined; askSetAside: AskSetAside };

/**
 * The keys that a Node is to list once the set is written, or the change of taints: nothing else tells whose a key is once
 * its cause is gone. What goes by another request stays listed until it is gone.
 */
export function keysAfter(node: ObservedNode, intent: NodeIntent, written: Written): NodeKeys {
  const before = keysOn(node);
  const conditions = conditionsToList(node, intent);
  const after = new Map<string, Origin>();
  for (const entry of intent.values()) {
    const id = entryKey(entry);
    const listed = before.get(id);
    // Whoever holds a key does not know whose it is.
    const origin = (entry.stance === 'hold' ? listed : undefined) ?? entry.origin ?? listed;
    if (origin === undefined) continue;
    const isListed = listed !== undefined;
    if (entry.kind === 'label' && isLabelListed(entry, node, { ...written, isListed })) after.set(id, origin);
    if (entry.kind === 'taint' && isTaintListed(entry, node, { ...written, isListed })) after.set(id, origin);
    if (entry.kind === 'condition' && conditions.has(entry.key)) after.set(id, origin);
  }
  return after;
}

type Situation = Written & { isListed: boolean };

function isLabelListed(entry: IntentEntry, node: ObservedNode, { set, askSetAside, isListed }: Situation): boolean {
  const { key, value, stance, ownership, origin, sinceMs } = entry;
  if (Object.hasOwn(set.labels, key)) return true;
  if (!isListed) return false;
  // It comes and goes with a service that is for this node: the list does not change each time.
  if (sinceMs !== undefined && isOfService(origin)) return true;
  if (stance === 'want' && isRivalled(askSetAside({ kind: 'label', key }, value))) return true;
  if (stance === 'hold') return true;
  return node.labels[key] !== undefined && (stance === 'want' || ownership === 'exclusive');
}

/** Whether somebody else changed a label of ours: whose it is does not hang on which watch told first. */
function isRivalled(cause: ReturnType<AskSetAside>): boolean {
  return cause === 'foreign' || cause === 'contested';
}

/** Taints that are not known stay listed. */
function isTaintListed(
  { key }: IntentEntry,
  { taints: present }: ObservedNode,
  { taints, isListed }: Situation,
): boolean {
  if (taints?.add.some((taint) => taint.key === key)) return true;
  const isThere = present ? present.some((taint) => taint.key === key) : isListed;
  return isThere && !taints?.remove.includes(key);
}
