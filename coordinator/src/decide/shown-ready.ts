import type { Service } from '../model/services.ts';
import type { ObservedNode } from '../state/observed-node.ts';

/** Whether a Node shows a service as ready, to a scheduler that reads its labels and taints. */
export function shownReady(node: ObservedNode, { publish: { label, taint, condition }, origin }: Service): boolean {
  if (!label && !taint) return node.conditions?.find(({ type }) => type === condition)?.status === 'True';
  const labeled = label === undefined || node.labels[label] === 'true';
  if (origin.kind === 'built-in' && origin.gate === 'label') return labeled;
  return labeled && !node.taints?.some(({ key, effect }) => key === taint?.key && effect !== 'PreferNoSchedule');
}
