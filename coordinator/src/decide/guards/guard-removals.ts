import type { Moment } from '@rollcall/common/clock.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { Claim, EvaluatedNode } from '../labelers/labeler.ts';
import type { BlastRadius } from './blast-radius.ts';

/** Gets, for a label, what records its removal or its return once the plan is written; the last one counts. */
export type Note = (key: string, record: (() => void) | undefined) => void;

/**
 * The stage between what is wanted of a node and what is planned: sees every label that is to leave, with its cause, and
 * keeps those for now that many nodes would lose for what was configured. Taints and conditions never wait. Changes
 * nothing: `note` gets what is to be recorded.
 */
export function guardRemoval<C extends Claim>(
  entry: C,
  node: EvaluatedNode,
  { guard, now, note }: { guard: BlastRadius; now: Moment; note: Note },
): C {
  if (entry.kind !== 'label') return entry;
  const { key, cause, object } = entry;
  const value = node.labels[key];
  const isDeparting = guard.isDeparting(key);
  if (entry.stance !== 'absent') {
    // A label that is kept and is not there has not returned.
    const isBack = isDeparting && (entry.stance === 'present' || value !== undefined);
    note(key, isBack ? () => guard.returned(node.name, key) : undefined);
    return entry;
  }
  const isConfigured = cause === 'configuration' || guard.wasChanged(object, now.monotonicMs);
  if (value === undefined || !isConfigured || !isOurs(entry, node)) {
    note(key, isDeparting ? () => guard.settled(node.name, key) : undefined);
    return entry;
  }
  const removal = { node: node.name, key, object };
  note(key, () => guard.record(removal, now.monotonicMs));
  const untilMs = guard.heldUntilMs(removal, now.monotonicMs);
  if (untilMs === undefined) return entry;
  const until = rfc3339(now.wallMs + untilMs - now.monotonicMs);
  const reason = `${entry.reason}; stays until ${until}, since many nodes would lose it at once`;
  return { ...entry, value, stance: 'keep', reason };
}

/** Whether withholding the label removes it from the node. */
function isOurs({ key, ownership }: Claim, { ownedLabels, sharedLabels }: EvaluatedNode): boolean {
  return ownership === 'exclusive' || (ownedLabels.has(key) && !sharedLabels.has(key));
}
