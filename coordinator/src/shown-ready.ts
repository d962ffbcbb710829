import type { ObservedNode } from './fleet/observed-node.ts';
import type { ReadinessGate } from './labelers/readiness.ts';
import type { Service } from './services.ts';

/** Whether a Node shows a service as ready, to a scheduler that goes by what the gate writes. */
export function shownReady(node: ObservedNode, { label, taint }: Service, gate: ReadinessGate): boolean {
  const labeled = node.labels[label] === 'true';
  if (gate === 'label') return labeled;
  return labeled && !node.taints?.some(({ key, effect }) => key === taint && effect !== 'PreferNoSchedule');
}
