import { cutText, REFUSED_KEYS_MAX } from '@rollcall/common/status-limits.ts';
import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { parseManagedLabels, type RefusedKey } from '../../decide/labelers/pool-keys.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import type { ObservedPoolLabelSet } from '../../state/pool-label-sets.ts';
import { conditionsOf, NO_NODES, notInForce, type ObjectCondition, type StatusVerdict } from './status-controller.ts';

/** The status of a NodePoolLabels or NodePoolLabelSet. */
export type SetStatus = {
  observedGeneration: number;
  nodesMatched: number;
  nodesLabelled: number;
  nodesInConflict: number;
  refusedKeys: RefusedKey[];
  conditions: ObjectCondition<'NodesLabelled'>[];
};

export type SetFacts = {
  set: ObservedPoolLabelSet;
  /** The set that counts for the pool, where that is another. */
  overruledBy: ObservedPoolLabelSet | undefined;
  refused: readonly RefusedKey[];
  tally: PoolTally;
  /** Nodes that keep labels of the set although they are in another pool. */
  nodesOfOtherPools?: readonly string[];
  /** What the status is now. Others may have written it, in any form. */
  previous: unknown;
  /** RFC 3339. */
  now: string;
};

const CONFLICTS_SHOWN = 3;
const NODES_SHOWN = 3;

/** Reason of the condition and of the Event about nodes that keep labels of the set although they are in another pool. */
export const OTHER_POOL = 'NodesInOtherPool';

/** What the status should be. A condition that stays as it is keeps its time. */
export function setStatus(facts: SetFacts): SetStatus {
  const { set, refused, tally, previous, now } = facts;
  const isNoneSet = areAllRefused(facts);
  const verdict = setInForce(facts);
  const about = { object: { generation: set.generation, status: previous }, now };
  return {
    observedGeneration: set.generation,
    nodesMatched: tally.matched,
    nodesLabelled: isNoneSet ? 0 : tally.labelled,
    nodesInConflict: tally.conflicts.length,
    refusedKeys: refused.slice(0, REFUSED_KEYS_MAX).map(({ key, reason }) => ({ key, reason })),
    conditions: conditionsOf(verdict, { NodesLabelled: nodesLabelled(facts, verdict) }, about),
  };
}

/** An object of which a key is refused is not in force as it is written, though its other labels are set. */
export function setInForce(facts: Pick<SetFacts, 'set' | 'overruledBy' | 'refused'>): StatusVerdict {
  const { set, overruledBy, refused } = facts;
  if (overruledBy) {
    const message = `The pool ${set.pool} already has the ${overruledBy.kind} ${overruledBy.name}, which is older`;
    return { status: 'False', reason: 'PoolTaken', message };
  }
  if (refused.length === 0) return { status: 'True', reason: 'InForce', message: 'Every label can be set' };
  const sets = areAllRefused(facts) ? 'It sets no labels: ' : '';
  return { status: 'False', reason: 'KeysRefused', message: `${sets}${refusalIn(refused)}` };
}

/** The first refused key with its reason, and how many more there are. */
function refusalIn(refused: readonly RefusedKey[]): string {
  const [first] = refused;
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more)` : '';
  return `${cutText(first?.key ?? '', 'key')} ${first?.reason}${more}`;
}

function areAllRefused({ set, refused }: Pick<SetFacts, 'set' | 'refused'>): boolean {
  return refused.length > 0 && refused.length === Object.keys(set.labels).length;
}

function nodesLabelled(facts: SetFacts, verdict: StatusVerdict): StatusVerdict {
  const { set, overruledBy, refused, nodesOfOtherPools = [] } = facts;
  const { matched, labelled, conflicts } = facts.tally;
  if (overruledBy || areAllRefused(facts)) return notInForce(verdict);
  const count = `${labelled} of ${matched} nodes have the ${refused.length > 0 ? 'other ' : ''}labels`;
  if (nodesOfOtherPools.length > 0) {
    const more = nodesOfOtherPools.length > NODES_SHOWN ? ', …' : '';
    const nodes = `${nodesOfOtherPools.slice(0, NODES_SHOWN).join(', ')}${more}`;
    const message = `${count}; ${nodesOfOtherPools.length} more keep them, although another label names another pool for these nodes: ${nodes}`;
    return { status: 'False', reason: OTHER_POOL, message };
  }
  if (matched === 0) return { status: 'Unknown', reason: NO_NODES, message: `No node is in the pool ${set.pool}` };
  if (labelled === matched) return { status: 'True', reason: 'AllLabelled', message: count };
  if (conflicts.length === 0) return { status: 'False', reason: 'Labelling', message: count };
  const shown = conflicts.slice(0, CONFLICTS_SHOWN).map(({ node, key }) => `${key} on ${node}`);
  const message = `${count}; others have set another value of ${shown.join(', ')}`;
  return { status: 'False', reason: 'Conflict', message };
}

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
