import type { ObservedNode } from '../fleet/observed-node.ts';
import type { NodeIntent } from './intent.ts';
import type { TaintChange } from './plan.ts';

/**
 * The taints to add and to remove; `undefined` when they are as they should be, or are not known. All taints of a key go
 * together, whatever their effect, and one that keeps pods away by another effect is as good.
 */
export function planTaints({ taints }: ObservedNode, intent: NodeIntent): TaintChange | undefined {
  if (!taints) return undefined;
  const present = new Set(taints.map(({ key }) => key));
  const effective = new Set(taints.filter(({ effect }) => effect !== 'PreferNoSchedule').map(({ key }) => key));
  const claims = [...intent.values()].filter(({ kind }) => kind === 'taint');
  const add = claims.filter(({ stance, key }) => stance === 'want' && !effective.has(key));
  const remove = claims.filter(({ stance, key }) => stance === 'withhold' && present.has(key));
  if (add.length + remove.length === 0) return undefined;
  return {
    add: add.map(({ key, value }) => ({ key, value, effect: 'NoSchedule' })),
    remove: remove.map(({ key }) => key),
    observed: taints,
  };
}
