import type { ObservedNode } from '../fleet/observed-node.ts';
import type { IntentEntry, NodeIntent } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { planNode } from './plan-node.ts';

/**
 * The plan that removes everything that rollcall owns on a node: exclusive keys whoever set them, and what it applied;
 * what others applied as well stays.
 */
export function prunePlan(node: ObservedNode, exclusiveLabels: readonly string[]): NodePlan | undefined {
  const entries = exclusiveLabels.map((key): [string, IntentEntry] => [
    `label:${key}`,
    {
      kind: 'label',
      key,
      value: 'true',
      stance: 'withhold',
      ownership: 'exclusive',
      reason: 'rollcall is being removed',
      labeler: 'prune',
      overruled: [],
    },
  ]);
  const nothing: NodeIntent = new Map(entries);
  return planNode(node, nothing, () => undefined);
}
