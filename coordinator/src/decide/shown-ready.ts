import type { Service } from '../model/services.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import type { ReadinessGate } from './labelers/readiness.ts';

/** Whether a Node shows a service as ready, to a scheduler that goes by what the gate writes. */
export function shownReady(
  node: ObservedNode,
  { publish: { label, taint, condition } }: Service,
  gate: ReadinessGate,
): boolean {
  if (!label && !taint) return node.conditions?.find(({ type }) => type === condition)?.status === 'True';
  const labeled = label === undefined || node.labels[label] === 'true';
  if (gate === 'label') return labeled;
  return labeled && !node.taints?.some(({ key, effect }) => key === taint?.key && effect !== 'PreferNoSchedule');
}
