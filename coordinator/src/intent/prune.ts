import type { ObservedNode } from '../fleet/observed-node.ts';
import type { Service } from '../services.ts';
import { entryKey, type IntentEntry, type NodeIntent } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { planNode } from './plan-node.ts';

/**
 * The plan that removes everything that rollcall owns on a node: labels and taints of services whoever set them, and
 * what it applied; what others applied as well stays.
 */
export function prunePlan(node: ObservedNode, services: readonly Service[]): NodePlan | undefined {
  const gone = (kind: IntentEntry['kind'], key: string): [string, IntentEntry] => [
    entryKey({ kind, key }),
    {
      kind,
      key,
      value: 'true',
      stance: 'withhold',
      ownership: 'exclusive',
      reason: 'rollcall is being removed',
      labeler: 'prune',
      overruled: [],
    },
  ];
  const nothing: NodeIntent = new Map(
    services.flatMap(({ label, taint }) => [gone('label', label), gone('taint', taint)]),
  );
  return planNode(node, nothing, () => undefined);
}
