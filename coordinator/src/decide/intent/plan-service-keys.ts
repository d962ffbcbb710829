import { SERVICE_KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { ObservedNode } from '../../fleet/observed-node.ts';
import { formatServiceKeys, parseServiceKeys, type ServiceKeySets } from '../labelers/service-keys.ts';
import { entryKey, type NodeIntent } from './intent.ts';
import type { TaintChange } from './plan.ts';
import { conditionsToList } from './plan-conditions.ts';

/**
 * A change of taints with what the node is to say of the keys that it has because of services: nothing but this tells
 * whose a taint is once its service is gone. A list is worth a request of its own only where it does not name a taint or
 * condition that is there, or is to come, or names what is not there and nobody publishes; a label alone is not, as field
 * ownership tells of it.
 */
export function withServiceKeys(
  node: ObservedNode,
  intent: NodeIntent,
  change: TaintChange | undefined,
): TaintChange | undefined {
  const before = node.annotations[SERVICE_KEYS_ANNOTATION];
  const listed = parseServiceKeys(before);
  const next = keysAfter(node, intent, { change, listed });
  const after = formatServiceKeys(next);
  const isNews = change !== undefined || !listed || isOutdated(listed, next, intent);
  if (!isNews || before === after) return change;
  const { taints: observed = [] } = node;
  return { ...(change ?? { add: [], remove: [], observed }), serviceKeys: { before, after, ...inNone(node) } };
}

/** What will be there: labels that go later are still named, and taints that are not known stay listed. */
function keysAfter(
  node: ObservedNode,
  intent: NodeIntent,
  { change, listed }: { change: TaintChange | undefined; listed: ServiceKeySets | undefined },
): ServiceKeySets {
  const present = new Set(node.taints?.map(({ key }) => key) ?? listed?.taints);
  const isAdded = (key: string) => change?.add.some((taint) => taint.key === key) === true;
  const stays = (key: string) => isAdded(key) || (present.has(key) && !change?.remove.includes(key));
  const conditions = conditionsToList(node, intent, listed?.conditions);
  const next = { labels: new Set<string>(), taints: new Set<string>(), conditions };
  for (const { kind, key, service, stance } of intent.values()) {
    if (service === undefined) continue;
    if (kind === 'label' && (node.labels[key] !== undefined || stance === 'want')) next.labels.add(key);
    if (kind === 'taint' && stays(key)) next.taints.add(key);
  }
  return next;
}

function isOutdated(listed: ServiceKeySets, next: ServiceKeySets, intent: NodeIntent): boolean {
  const isPublished = (key: string) => intent.get(entryKey({ kind: 'label', key }))?.service === 'published';
  const isGone = (key: string) => !next.labels.has(key) && !isPublished(key);
  return (
    listed.taints.symmetricDifference(next.taints).size > 0 ||
    listed.conditions.symmetricDifference(next.conditions).size > 0 ||
    [...listed.labels].some(isGone)
  );
}

function inNone({ unannotated }: ObservedNode): { intoNone?: true } {
  return unannotated ? { intoNone: true } : {};
}
