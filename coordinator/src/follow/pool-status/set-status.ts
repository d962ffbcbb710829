import type { RefusedKey } from '../../decide/labelers/pool-keys.ts';
import type { ObservedPoolLabelSet } from '../../fleet/pool-label-sets.ts';
import type { PoolTally } from './pool-tally.ts';

type Condition = {
  type: 'Accepted' | 'Ready';
  status: 'True' | 'False';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration: number;
};

/** The status of a NodePoolLabelSet. */
export type SetStatus = {
  observedGeneration: number;
  nodesMatched: number;
  nodesLabelled: number;
  nodesInConflict: number;
  refusedKeys: RefusedKey[];
  conditions: Condition[];
};

export type SetFacts = {
  set: ObservedPoolLabelSet;
  /** The set that counts for the pool, where that is another. */
  overruledBy: ObservedPoolLabelSet | undefined;
  refused: readonly RefusedKey[];
  tally: PoolTally;
  /** What the status is now. Others may have written it, in any form. */
  previous: unknown;
  /** RFC 3339. */
  now: string;
};

const REFUSED_MAX = 20;
/** No valid key is longer. */
const KEY_LENGTH_MAX = 317;
const CONFLICTS_SHOWN = 3;

type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>;

/** What the status should be. A condition that stays as it is keeps its time. */
export function setStatus(facts: SetFacts): SetStatus {
  const { set, refused, tally, previous, now } = facts;
  const before = conditionsOf(previous);
  const condition = (type: Condition['type'], verdict: Verdict): Condition => {
    const since = before.find((each) => each.type === type && each.status === verdict.status)?.lastTransitionTime;
    const lastTransitionTime = since ?? now;
    return { type, ...verdict, lastTransitionTime, observedGeneration: set.generation };
  };
  return {
    observedGeneration: set.generation,
    nodesMatched: tally.matched,
    nodesLabelled: tally.labelled,
    nodesInConflict: tally.conflicts.length,
    refusedKeys: refused.slice(0, REFUSED_MAX).map(({ key, reason }) => ({ key: shortened(key), reason })),
    conditions: [condition('Accepted', accepted(facts)), condition('Ready', ready(facts))],
  };
}

type Unchecked<T> = { [K in keyof T]?: unknown };

function conditionsOf(status: unknown): { type: unknown; status: unknown; lastTransitionTime: string | undefined }[] {
  const { conditions } = (status ?? {}) as Unchecked<SetStatus>;
  const given: (Unchecked<Condition> | null)[] = Array.isArray(conditions) ? conditions : [];
  return given.map((each) => {
    const { lastTransitionTime: time } = each ?? {};
    return { type: each?.type, status: each?.status, lastTransitionTime: typeof time === 'string' ? time : undefined };
  });
}

function accepted({ set, overruledBy, refused }: SetFacts): Verdict {
  if (overruledBy) {
    const message = `${overruledBy.name}, which is older, is for the pool ${set.pool} already`;
    return { status: 'False', reason: 'PoolTaken', message };
  }
  if (refused.length === 0) return { status: 'True', reason: 'Accepted', message: 'Every label can be set' };
  const [first] = refused;
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more)` : '';
  return { status: 'False', reason: 'KeysRefused', message: `${shortened(first?.key ?? '')} ${first?.reason}${more}` };
}

function shortened(key: string): string {
  return key.length > KEY_LENGTH_MAX ? `${key.slice(0, KEY_LENGTH_MAX - 1)}…` : key;
}

function ready({ overruledBy, tally: { matched, labelled, conflicts } }: SetFacts): Verdict {
  if (overruledBy) return { status: 'False', reason: 'PoolTaken', message: 'Nothing is set by it' };
  const count = `${labelled} of ${matched} nodes have the labels`;
  if (labelled === matched) return { status: 'True', reason: 'AllLabelled', message: count };
  if (conflicts.length === 0) return { status: 'False', reason: 'Labelling', message: count };
  const shown = conflicts.slice(0, CONFLICTS_SHOWN).map(({ node, key }) => `${key} on ${node}`);
  const message = `${count}; others have set another value of ${shown.join(', ')}`;
  return { status: 'False', reason: 'Conflict', message };
}
