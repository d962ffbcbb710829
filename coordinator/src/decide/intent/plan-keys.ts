import { IMPLIED_LABELS_ANNOTATION, KEYS_ANNOTATION, SERVICE_KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { formatKeys, keysOn, type NodeKeys, type Origin } from '../../state/node-keys.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import { entryKey, type NodeIntent } from './intent.ts';
import type { ListingRequest } from './kinds/kind.ts';
import { KINDS } from './kinds/kinds.ts';
import type { AskSkipped, KeyRef, NodeSet, TaintChange } from './plan.ts';

export const KEYS: KeyRef = { kind: 'annotation', key: KEYS_ANNOTATION };
const EARLIER_LISTS = [IMPLIED_LABELS_ANNOTATION, SERVICE_KEYS_ANNOTATION];

type PlannedList = {
  /** The list after the apply; `undefined` where there is none. */
  text: string | undefined;
  /**
   * Another writer owns the list: a change of taints writes it by a patch, after which an apply has to take it over.
   */
  takesForce: boolean;
  /** Annotations that go by a request of their own. */
  obsolete: readonly KeyRef[];
};

/**
 * Plans the change of the list of keys in the apply, and of the lists of earlier versions, which go once their keys are
 * in it. Where nothing else is written, the list of the pool's labels names the labels of the pool.
 */
export function planKeys(
  node: ObservedNode,
  intent: NodeIntent,
  {
    withdrawn,
    isWritten,
    ...request
  }: { set: NodeSet; askSkipped: AskSkipped; withdrawn: ReadonlyMap<string, KeyRef>; isWritten: boolean },
): PlannedList {
  const before = node.annotations[KEYS_ANNOTATION];
  const keys = keysAfter(node, intent, request);
  const earlier = EARLIER_LISTS.filter((key) => node.annotations[key] !== undefined);
  // The request that takes the last keys takes the list along, where no apply lets go of others after it. Labels of
  // services come back, and go ahead of the list.
  const isGoing = (id: string) => withdrawn.has(id) && intent.get(id)?.sinceMs === undefined;
  const isLast = !isWritten && before !== undefined && keys.size > 0 && keys.keys().every(isGoing);
  const isEmpty = isLast || keys.size === 0;
  const isAsListed = isEmpty ? before === undefined : earlier.length === 0 && areSameButPools(keys, keysOn(node));
  if (isAsListed && !isWritten) return { text: before, takesForce: false, obsolete: refsOf(earlier) };
  const wanted = isEmpty ? undefined : formatKeys(keys);
  const cause = wanted === before ? undefined : request.askSkipped(KEYS, wanted);
  // A value that the API server refused to change stays as it is.
  const text = cause === undefined || cause === 'foreign' ? wanted : before;
  const isChange = text !== before && before !== undefined;
  const isOwned = node.owned.annotations.has(KEYS_ANNOTATION);
  const takesForce = isChange && text !== undefined && (!isOwned || cause === 'foreign');
  const isRemoved = isLast || (!isWritten && isChange && text === undefined && !isOwned);
  const obsolete = [...(wanted === before ? earlier : []), ...(isRemoved ? [KEYS_ANNOTATION] : [])];
  return { text, takesForce, obsolete: refsOf(obsolete) };
}

/** How the list changes in the request that changes taints. */
export function listedWithTaints(
  taints: TaintChange,
  node: ObservedNode,
  intent: NodeIntent,
): Pick<TaintChange, 'keys'> {
  const before = node.annotations[KEYS_ANNOTATION];
  const after = formatKeys(keysAfter(node, intent, { taints }));
  return after === before ? {} : { keys: { before, after, ...(node.unannotated ? { intoNone: true } : {}) } };
}

/**
 * The keys that a Node lists after a request: only the list tells the origin of a key once its cause is gone. A label
 * is listed by the apply that sets it, and never before, since another writer may set it first. A key that another
 * request removes stays listed until it is gone.
 */
function keysAfter(node: ObservedNode, intent: NodeIntent, request: ListingRequest): NodeKeys {
  const before = keysOn(node);
  const after = new Map<string, Origin>();
  for (const entry of intent.values()) {
    const { isListed, isSetBy } = KINDS[entry.kind];
    if (!isListed) continue;
    const id = entryKey(entry);
    const listed = before.get(id);
    // A labeler that keeps a key does not know its origin. The list of the pool's labels tells that a label is of a pool.
    const isKept = listed !== 'pool' && (entry.stance === 'keep' || isSetBy?.(entry, request) === false);
    const origin = (isKept ? listed : undefined) ?? entry.origin ?? listed;
    if (origin === undefined) continue;
    if (isListed(entry, listed !== undefined, node, request)) after.set(id, origin);
  }
  return after;
}

function areSameButPools(one: NodeKeys, other: NodeKeys): boolean {
  const isIn = (keys: NodeKeys) => (origin: Origin, id: string) => origin === 'pool' || keys.get(id) === origin;
  const areIn = (keys: NodeKeys, all: NodeKeys) => keys.entries().every(([id, origin]) => isIn(all)(origin, id));
  return areIn(one, other) && areIn(other, one);
}

function refsOf(annotations: readonly string[]): KeyRef[] {
  return annotations.map((key) => ({ kind: 'annotation', key }));
}
