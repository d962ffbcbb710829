import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { parseManagedLabels } from '../../decide/labelers/managed-labels.ts';
import type { ObservedNode } from '../../state/observed-node.ts';

/** How it stands with the nodes of a pool. */
export type PoolTally = {
  matched: number;
  /** Every label is there as it is wanted. */
  labelled: number;
  /** A label has another value, which is not ours to change. */
  conflicts: { node: string; key: string }[];
};

/** What was found of a node, and of which labels. A node that changes is another object. */
export type Standings = WeakMap<ObservedNode, { wanted: ReadonlyMap<string, string>; standing: Standing }>;

/** The key that is in conflict, where one is. */
type Standing = { isLabelled: boolean; conflict?: string };

/** How it stands with these nodes; `wanted` are the labels that their pool may set. What is in `known` is not looked at. */
export function tallyOf(
  nodes: readonly ObservedNode[],
  wanted: ReadonlyMap<string, string>,
  known: Standings = new WeakMap(),
): PoolTally {
  const tally: PoolTally = { matched: nodes.length, labelled: 0, conflicts: [] };
  for (const node of nodes) {
    const before = known.get(node);
    const { standing } = before?.wanted === wanted ? before : { standing: standingOf(node, wanted) };
    if (standing !== before?.standing) known.set(node, { wanted, standing });
    if (standing.isLabelled) tally.labelled += 1;
    if (standing.conflict !== undefined) tally.conflicts.push({ node: node.name, key: standing.conflict });
  }
  return tally;
}

function standingOf(node: ObservedNode, wanted: ReadonlyMap<string, string>): Standing {
  const wrong = [...wanted].filter(([key, value]) => node.labels[key] !== value).map(([key]) => key);
  if (wrong.length === 0) return { isLabelled: true };
  const managed = parseManagedLabels(node.annotations[MANAGED_LABELS_ANNOTATION]);
  const conflict = wrong.find((key) => node.labels[key] !== undefined && !managed?.has(key));
  return { isLabelled: false, ...(conflict === undefined ? {} : { conflict }) };
}
