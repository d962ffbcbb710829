import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import { isOfService } from '../../../state/node-keys.ts';
import type { ObservedNode } from '../../../state/observed-node.ts';
import type { IntentEntry } from '../intent.ts';
import type { AskSkipped } from '../plan.ts';
import type { KeyModule } from './kind.ts';
import { metadataKind } from './metadata.ts';

export const label: KeyModule = {
  ...metadataKind('label', (key, value) => isLabelKey(key) && isLabelValue(value)),
  isListed(entry, isListed, node, request) {
    if (!('set' in request)) return isListed;
    const { key, value, stance, ownership, origin, sinceMs } = entry;
    if (Object.hasOwn(request.set.labels, key)) return true;
    if (!isListed) return false;
    // It comes and goes with a service that is for this node: the list does not change each time.
    if (sinceMs !== undefined && isOfService(origin)) return true;
    if (stance === 'present' && isRivalled(request.askSkipped({ kind: 'label', key }, value))) return true;
    if (stance === 'keep') return true;
    return (
      node.labels[key] !== undefined && (stance === 'present' || ownership === 'exclusive' || isOwnerless(node, entry))
    );
  },
  isSetBy: ({ key, value }, request) => 'set' in request && request.set.labels[key] === value,
};

/**
 * Whether another writer changed a label of ours. The owner of the label does not depend on the order in which watches
 * deliver.
 */
export function isRivalled(cause: ReturnType<AskSkipped>): boolean {
  return cause === 'foreign' || cause === 'contested';
}

/** Whether the list alone shows that a label is ours: giving it up does not remove it. */
export function isOwnerless({ ownerless }: ObservedNode, { kind, key }: Pick<IntentEntry, 'kind' | 'key'>): boolean {
  return kind === 'label' && ownerless?.has(key) === true;
}
