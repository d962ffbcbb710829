import { hasTaint, type ObservedNode, type Taint } from '../../state/observed-node.ts';
import type { Claim } from '../labelers/labeler.ts';
import type { NodeIntent } from './intent.ts';
import type { TaintChange } from './plan.ts';

/**
 * The taints to add and to remove; `undefined` when they are as they should be, or are not known. A key that is wanted
 * has exactly one taint, and all others of it go, whatever their effect. Where a claim names no effect, one that also
 * evicts is as good while the key is wanted.
 */
export function planTaints({ taints }: ObservedNode, intent: NodeIntent): TaintChange | undefined {
  if (!taints) return undefined;
  const present = new Set(taints.map(({ key }) => key));
  const claims = [...intent.values()].filter(({ kind }) => kind === 'taint');
  const add = claims.filter((claim) => claim.stance === 'present' && !isFulfilled(taints, claim));
  // What is there of a key that is to be added keeps no pod away, or says something else.
  const remove = claims.filter((claim) => (claim.stance === 'absent' || add.includes(claim)) && present.has(claim.key));
  if (add.length + remove.length === 0) return undefined;
  return {
    add: add.map(({ key, value, effect = 'NoSchedule' }) => ({ key, value, effect })),
    remove: remove.map(({ key }) => key),
    observed: taints,
  };
}

function isFulfilled(taints: readonly Taint[], { key, value, effect }: Claim): boolean {
  const [first, ...others] = taints.filter((each) => each.key === key);
  if (!first || others.length > 0) return false;
  if (effect === undefined && first.effect === 'NoExecute') return true;
  return hasTaint([first], { key, value, effect: effect ?? 'NoSchedule' });
}
