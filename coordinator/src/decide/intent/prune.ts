import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import { isOfService, keysOn, splitListed } from '../../state/node-keys.ts';
import { NO_CONDITION_OWNERS } from '../../state/observed-conditions.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { planNode } from './plan-node.ts';

/**
 * The plan that removes everything that rollcall owns on a node. Keys in the registry, and keys that the node lists for
 * its pool or for services, also for services that no longer exist, go whatever their owner. Other keys that rollcall
 * applied go, unless others applied them as well.
 */
export function prunePlan(node: ObservedNode, keys: KeyRegistry): NodePlan | undefined {
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
  const applied = [...ours].filter((key) => !keys.isUntouchable('condition', key));
  const named = keys.entries.flatMap(({ kind, keys: which, prune }) =>
    prune === 'remove' && 'name' in which ? [gone({ kind, key: which.name })] : [],
  );
  const nothing: NodeIntent = new Map([
    ...listed,
    ...applied.map((key) => gone({ kind: 'condition', key, origin: 'service:' })),
    ...named,
  ]);
  return planNode(node, nothing, () => undefined);
}
