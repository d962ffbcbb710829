import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { NO_CONDITION_OWNERS } from '../../fleet/observed-conditions.ts';
import type { ObservedNode } from '../../fleet/observed-node.ts';
import type { KeyKind } from '../../setup/keys/key-entry.ts';
import type { KeyRegistry } from '../../setup/keys/key-registry.ts';
import type { Claim } from '../labelers/labeler.ts';
import { parseManagedLabels } from '../labelers/managed-labels.ts';
import { serviceKeysOn } from '../labelers/service-keys.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { planNode } from './plan-node.ts';

/**
 * The plan that removes everything that rollcall owns on a node: what the registry says, what the node lists as that of
 * its pool or of services, also of services that nobody knows any more, whoever set it; and what rollcall applied, where
 * what others applied as well stays.
 */
export function prunePlan(node: ObservedNode, keys: KeyRegistry): NodePlan | undefined {
  const gone = (ref: Pick<IntentEntry, 'kind' | 'key' | 'service'>): [string, IntentEntry] => [
    entryKey(ref),
    {
      ...ref,
      value: 'true',
      stance: 'withhold',
      ownership: 'exclusive',
      reason: 'rollcall is being removed',
      labeler: 'prune',
      overruled: [],
    },
  ];
  const managed = parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]) ?? new Set<string>();
  const { labels, taints, conditions } = serviceKeysOn(node);
  const { ours } = node.conditionOwners ?? NO_CONDITION_OWNERS;
  const listed = (kind: KeyKind, all: ReadonlySet<string>, service?: Claim['service']) =>
    [...all]
      .filter((key) => !keys.isUntouchable(kind, key))
      .map((key) => gone({ kind, key, ...(service && { service }) }));
  const named = keys.entries.flatMap(({ kind, keys: which, prune }) =>
    prune === 'remove' && 'name' in which ? [gone({ kind, key: which.name })] : [],
  );
  const nothing: NodeIntent = new Map([
    ...listed('label', managed),
    ...listed('label', labels, 'left-over'),
    ...listed('taint', taints, 'left-over'),
    ...listed('condition', conditions.union(ours), 'left-over'),
    ...named,
  ]);
  return planNode(node, nothing, () => undefined);
}
