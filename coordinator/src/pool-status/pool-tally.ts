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

/** How it stands with these nodes; `wanted` are the labels that their pool may set. */
export function tallyOf(nodes: readonly ObservedNode[], wanted: ReadonlyMap<string, string>): PoolTally {
  const tally: PoolTally = { matched: nodes.length, labelled: 0, conflicts: [] };
  for (const node of nodes) countNode(tally, node, wanted);
  return tally;
}

function countNode(tally: PoolTally, node: ObservedNode, wanted: ReadonlyMap<string, string>): void {
  const wrong = [...wanted].filter(([key, value]) => node.labels[key] !== value).map(([key]) => key);
  if (wrong.length === 0) {
    tally.labelled += 1;
    return;
  }
  const managed = parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]);
  const conflict = wrong.find((key) => node.labels[key] !== undefined && !managed?.has(key));
  if (conflict !== undefined) tally.conflicts.push({ node: node.name, key: conflict });
}
