import { strayHistories } from './key-history.ts';
import type { Kind } from './plans.ts';
import type { Played } from './play.ts';
import type { Done, Plan } from './run.ts';
import type { Scenario } from './scenario.ts';

export type Verdict = {
  /** Whether the write came at which something was to be done. */
  isPlayed: boolean;
  /** Differences from the reference; empty in a good run. */
  divergences: readonly string[];
  /** Writes that the reference does not have, and the plan explains. */
  explained: readonly string[];
  /** Writes that neither the reference has nor the plan explains. */
  unexplained: readonly string[];
};

export function judge(
  plan: Plan,
  reference: Played,
  actual: Played,
  { hasNewNodes = false }: Pick<Scenario, 'hasNewNodes'>,
): Verdict {
  const { explained = [], unexplained = [] } = Object.groupBy(extraWrites(reference, actual), (write) =>
    isExplained(write, plan.kind) ? 'explained' : 'unexplained',
  );
  return {
    isPlayed: actual.isPlayed,
    divergences: [
      ...(actual.problem === undefined ? [] : [actual.problem]),
      ...strayHistories(reference.histories, actual.histories, hasNewNodes),
    ],
    explained: explained.map(textOf),
    unexplained: unexplained.map(textOf),
  };
}

/**
 * A write that is refused because the Node has changed in between is tried again: how often depends on who is faster.
 * Statuses are looked at every second, and each plan takes some: what was true in between may be written (of what it says,
 * the histories are judged). A coordinator that starts anew takes the Lease, and does not know which Events it told. Nothing
 * else is written for a crash, and nothing because a watch is late, lacks something, or is behind. But for one that starts
 * anew where pods are told 3 s late: what needs none is shown before them, in a write of its own. It is none that repeats
 * what is there, and what it shows is judged by the histories.
 */
function isExplained({ kind, status, isRepeated }: Done, plan: Kind): boolean {
  if (plan === 'crash-behind' && kind === 'node') return isStale(status) || !isRepeated;
  return isStale(status) || kind === 'status' || (plan.startsWith('crash') && (kind === 'lease' || kind === 'event'));
}

/** Whether another writer was faster. */
function isStale(status: number): boolean {
  return status === 409 || status === 422;
}

function textOf({ name, status }: Done): string {
  return status < 300 ? name : `${name} (${status})`;
}

function extraWrites({ writes }: Played, actual: Played): Done[] {
  const left = new Map<string, number>();
  for (const { name, status } of writes) if (!isStale(status)) left.set(name, (left.get(name) ?? 0) + 1);
  return actual.writes.filter(({ name, status }) => {
    if (isStale(status)) return true;
    const count = left.get(name) ?? 0;
    left.set(name, count - 1);
    return count <= 0;
  });
}

/** Every plan for a reference run: one for each of its writes, and each kind. */
export function plansFor({ writes }: Played, kinds: readonly Kind[]): Plan[] {
  const seen = new Map<string, number>();
  return writes.flatMap(({ name }) => {
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    return kinds.map((kind) => ({ kind, write: name, nth }));
  });
}
