import { isList } from '../decide/intent/lists.ts';
import {
  type ConditionChange,
  type KeyRef,
  type NodeRef,
  type NodeSet,
  type NodeWithdrawal,
  withdrawalOf,
} from '../decide/intent/plan.ts';
import type { WriteOutcome } from './classify.ts';
import { keysOfSet, keysOfWithdrawal, releasedKeys, restrictSet, valueIn } from './key-sets.ts';
import type { NodeWriter } from './node-writer.ts';
import type { SeenNode } from './unwritable-keys.ts';
import type { GateOutcome, WriteLimits } from './write-gate.ts';

/** What one try with a part of the suspects showed; `stop` ends the search. */
export type Probe<Stop> = { kind: 'accepted' } | { kind: 'refused'; message: string } | { kind: 'stop'; stop: Stop };

type Isolation<T, Stop> = {
  /** Each is refused together with what was accepted. */
  offending: { suspect: T; message: string }[];
  /** Goes through, all together. */
  accepted: T[];
  /** Why the search ended before every suspect was found to be one or the other. */
  ended?: { kind: 'whole-refused'; message: string } | { kind: 'probes-spent' } | { kind: 'stop'; stop: Stop };
};

/** Finds several offenders among thousands of suspects, and ends soon where nearly all offend. */
export const PROBES_MAX = 64;

/**
 * Finds the suspects that a request is refused for, by trying halves. Begins with none of them: what is refused even
 * then is not refused for any of them. A part is tried together with what was accepted before, so that what goes
 * through in the end goes through as a whole. Takes about 2·log2(n) probes for one offender among n.
 */
export async function isolate<T, Stop>(
  suspects: readonly T[],
  probe: (part: readonly T[]) => Promise<Probe<Stop>>,
): Promise<Isolation<T, Stop>> {
  const found: Isolation<T, Stop> = { offending: [], accepted: [] };
  const bare = await probe([]);
  if (bare.kind === 'refused') return { ...found, ended: { kind: 'whole-refused', message: bare.message } };
  if (bare.kind === 'stop') return { ...found, ended: bare };
  const parts = halves(suspects);
  for (let probes = 1; ; probes += 1) {
    const part = parts.pop();
    if (!part) return found;
    if (probes >= PROBES_MAX) return { ...found, ended: { kind: 'probes-spent' } };
    const verdict = await probe([...found.accepted, ...part]);
    if (verdict.kind === 'stop') return { ...found, ended: verdict };
    const [suspect] = part;
    if (verdict.kind === 'accepted') found.accepted.push(...part);
    else if (part.length === 1 && suspect !== undefined) found.offending.push({ suspect, message: verdict.message });
    else parts.push(...halves(part));
  }
}

/** The first half last, to be taken first. */
function halves<T>(part: readonly T[]): (readonly T[])[] {
  const middle = part.length >> 1;
  return [part.slice(middle), part.slice(0, middle)].filter(({ length }) => length > 0);
}

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
