import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';
import { parseManagedLabels } from '../labelers/managed-labels.ts';

/** How it stands with the nodes of a pool. */
export type PoolTally = {
  matched: number;
  /** Every label is there as it is wanted. */
  labelled: number;
  /** A label has another value, which is not ours to change. */
  conflicts: { node: string; key: string }[];
};

export const NO_NODES: PoolTally = { matched: 0, labelled: 0, conflicts: [] };

/** The tally with one more node; `wanted` are the labels that its pool may set. */
export function countNode(tally: PoolTally, node: ObservedNode, wanted: ReadonlyMap<string, string>): PoolTally {
  const wrong = [...wanted].filter(([key, value]) => node.labels[key] !== value).map(([key]) => key);
  if (wrong.length === 0) return { ...tally, matched: tally.matched + 1, labelled: tally.labelled + 1 };
  const managed = parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]);
  const conflict = wrong.find((key) => node.labels[key] !== undefined && !managed?.has(key));
  return {
    ...tally,
    matched: tally.matched + 1,
    conflicts: conflict === undefined ? tally.conflicts : [...tally.conflicts, { node: node.name, key: conflict }],
  };
}
