import { type KeyRef, type NodeRef, type NodeSet, type NodeWithdrawal, withdrawalOf } from '../intent/plan.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { type Isolation, isolate, type Probe } from './isolate.ts';
import { keysOfSet, keysOfWithdrawal, restrictSet, valueIn } from './key-sets.ts';
import type { NodeWriter } from './node-writer.ts';
import type { SeenNode } from './set-aside.ts';
import type { Priority } from './work-queue.ts';
import type { GateOutcome, WriteGate } from './write-gate.ts';

export type RefusedKeys = {
  offending: { ref: KeyRef; message: string }[];
  /** Goes through, all together. */
  good: KeyRef[];
  ended?: Isolation<KeyRef, GateOutcome>['ended'];
};

type Dependencies = { writer: NodeWriter; gate: WriteGate; limiter: ConcurrencyLimiter };

/**
 * Finds the keys that a refused set is refused for. Only keys that the set would change are suspects; the others are in
 * every probe, since a set without them would release them. Probes are rehearsals: none of them writes.
 */
export async function refusedInSet(
  node: NodeRef,
  set: NodeSet,
  observed: SeenNode | undefined,
  { writer, gate, limiter }: Dependencies,
): Promise<RefusedKeys> {
  const isChange = (ref: KeyRef) => !observed || valueIn(observed, ref) !== valueIn(set, ref);
  const unchanged = keysOfSet(set).filter((ref) => !isChange(ref));
  const found = await isolate<KeyRef, GateOutcome>(keysOfSet(set).filter(isChange), async (part) => {
    const probe = restrictSet(set, [...unchanged, ...part]);
    const outcome = await limiter.run('normal', (slot) =>
      gate.pass('probe', slot, (timeoutMs) => writer.set(node, probe, { timeoutMs, rehearsal: true })),
    );
    return verdictOf(outcome);
  });
  return describe(found, unchanged);
}

/** Finds the keys that a refused withdrawal is refused for, by rehearsals as well. */
export async function refusedInWithdrawal(
  node: NodeRef,
  keys: NodeWithdrawal,
  priority: Priority,
  { writer, gate, limiter }: Dependencies,
): Promise<RefusedKeys> {
  const found = await isolate<KeyRef, GateOutcome>(keysOfWithdrawal(keys), async (part) => {
    const outcome = await limiter.run(priority, (slot) =>
      gate.pass('probe', slot, (timeoutMs) =>
        writer.withdraw(node, withdrawalOf(part), { timeoutMs, rehearsal: true }),
      ),
    );
    return verdictOf(outcome);
  });
  return describe(found, []);
}

function verdictOf(outcome: GateOutcome | undefined): Probe<GateOutcome> {
  if (!outcome) return { kind: 'stop', stop: { kind: 'fenced' } };
  if (outcome.kind === 'applied') return { kind: 'accepted' };
  if (outcome.kind === 'denied' || outcome.kind === 'invalid') return { kind: 'refused', message: outcome.message };
  return { kind: 'stop', stop: outcome };
}

function describe({ offending, accepted, ended }: Isolation<KeyRef, GateOutcome>, unchanged: KeyRef[]): RefusedKeys {
  const refused = offending.map(({ suspect, message }) => ({ ref: suspect, message }));
  return { offending: refused, good: [...unchanged, ...accepted], ...(ended ? { ended } : {}) };
}
