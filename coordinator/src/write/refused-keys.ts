import { isList } from '../decide/intent/lists.ts';
import {
  type ConditionChange,
  type KeyRef,
  type NodeRef,
  type NodeSet,
  type NodeWithdrawal,
  withdrawalOf,
} from '../decide/intent/plan.ts';
import { type Isolation, isolate, type Probe } from './isolate.ts';
import { keysOfSet, keysOfWithdrawal, releasedKeys, restrictSet, valueIn } from './key-sets.ts';
import type { NodeWriter } from './node-writer.ts';
import type { SeenNode } from './unwritable-keys.ts';
import type { GateOutcome, WriteLimits } from './write-gate.ts';
import type { WriteOutcome } from './write-outcome.ts';

export type RefusedKeys = {
  offending: { ref: KeyRef; message: string }[];
  /** Goes through, all together. */
  good: KeyRef[];
  ended?: Isolation<KeyRef, Stop>['ended'];
};

/** `yielded`: something is to be written that waits for no search. */
type Stop = GateOutcome | { kind: 'yielded' };

export type SearchDependencies = {
  writer: NodeWriter;
  /** Sends a probe in its turn; `undefined` when nothing is sent any more. */
  probe: (send: (limits: WriteLimits) => Promise<WriteOutcome>) => Promise<GateOutcome | undefined>;
  /** Asked before each probe: whether the search is to end for something else. */
  mustYield: () => boolean;
};

/**
 * Finds the keys that a refused set is refused for. Only keys that the set would change or let go of are suspects; the
 * others are in every probe, and a suspect that is left out stays as it is. Annotations that list labels are in every
 * probe as well, with the labels of that probe: a label may be refused because it is not listed. Probes are rehearsals:
 * none of them writes.
 */
export async function refusedInSet(
  node: NodeRef,
  set: NodeSet,
  observed: SeenNode | undefined,
  { writer, probe, mustYield }: SearchDependencies,
): Promise<RefusedKeys> {
  const isChange = (ref: KeyRef) => !isList(ref) && (!observed || valueIn(observed, ref) !== valueIn(set, ref));
  const unchanged = keysOfSet(set).filter((ref) => !isChange(ref));
  const released = observed ? releasedKeys(set, observed).filter((ref) => !isList(ref)) : [];
  const found = await isolate<KeyRef, Stop>([...keysOfSet(set).filter(isChange), ...released], async (part) => {
    if (mustYield()) return YIELD;
    const tried = restrictSet(set, [...unchanged, ...part], observed);
    const outcome = await probe((limits) => writer.set(node, tried, { ...limits, rehearsal: true }));
    return verdictOf(outcome);
  });
  return describe(found, unchanged);
}

/** Finds the keys that a refused withdrawal is refused for, by rehearsals as well. */
export async function refusedInWithdrawal(
  node: NodeRef,
  keys: NodeWithdrawal,
  { writer, probe, mustYield }: SearchDependencies,
): Promise<RefusedKeys> {
  const found = await isolate<KeyRef, Stop>(keysOfWithdrawal(keys), async (part) => {
    if (mustYield()) return YIELD;
    const outcome = await probe((limits) => writer.withdraw(node, withdrawalOf(part), { ...limits, rehearsal: true }));
    return verdictOf(outcome);
  });
  return describe(found, []);
}

/**
 * Finds the news that an apply of conditions is refused for. All else that is ours is in every rehearsal as it is on the
 * Node: no request, rehearsed or not, lets go of it.
 */
export async function refusedInConditions(
  node: NodeRef,
  change: ConditionChange & { write: 'apply' },
  { writer, probe, mustYield }: SearchDependencies,
): Promise<Isolation<string, Stop>> {
  return isolate<string, Stop>(change.news, async (part) => {
    if (mustYield()) return YIELD;
    const isTried = ({ type }: { type: string }) => part.includes(type);
    const conditions = [
      ...change.conditions.filter((each) => isTried(each) || !change.news.includes(each.type)),
      ...change.before.filter((each) => !isTried(each)),
    ];
    const outcome = await probe((limits) =>
      writer.conditions(node, { ...change, conditions }, { ...limits, rehearsal: true }),
    );
    return verdictOf(outcome);
  });
}

const YIELD: Probe<Stop> = { kind: 'stop', stop: { kind: 'yielded' } };

function verdictOf(outcome: GateOutcome | undefined): Probe<Stop> {
  if (!outcome) return { kind: 'stop', stop: { kind: 'fenced' } };
  if (outcome.kind === 'applied') return { kind: 'accepted' };
  if (outcome.kind === 'denied' || outcome.kind === 'invalid') return { kind: 'refused', message: outcome.message };
  return { kind: 'stop', stop: outcome };
}

function describe({ offending, accepted, ended }: Isolation<KeyRef, Stop>, unchanged: KeyRef[]): RefusedKeys {
  const refused = offending.map(({ suspect, message }) => ({ ref: suspect, message }));
  return { offending: refused, good: [...unchanged, ...accepted], ...(ended ? { ended } : {}) };
}
