import type { Moment } from '@rollcall/common/clock.ts';
import type { ObservedCondition } from './observed-conditions.ts';
import type { ObservedNode } from './observed-node.ts';

/**
 * What this replica knows of a condition because it watched the Node. What the component that writes the condition says
 * of its times can make the condition older than this, and never younger.
 */
export type ConditionHistory = {
  /** Since when it is seen with its status; monotonic. */
  seenMs: number;
  /** It was seen with another status before, or missing: it is not older than it was seen. */
  isNew: boolean;
  /** The earliest time that was written for its status, by the wall clock; `undefined` if none was. */
  sinceMs: number | undefined;
  /** Since when its last heartbeat is known; monotonic. */
  heartbeatSeenMs: number;
};

/** Returns the Node with the history of its conditions, which goes on from `previous` if that is the same Node. */
export function withHistory(previous: ObservedNode | undefined, next: ObservedNode, now: Moment): ObservedNode {
  if (!next.conditions || next.conditions.length === 0) return next;
  const before = previous?.uid === next.uid ? previous.conditions : undefined;
  const conditions = next.conditions.map((condition) => ({ ...condition, history: historyOf(condition, before, now) }));
  return { ...next, conditions };
}

function historyOf(
  { type, status, lastTransitionTime, heartbeatMs }: ObservedCondition,
  before: ObservedNode['conditions'],
  { monotonicMs, wallMs }: Moment,
): ConditionHistory {
  const last = before?.find((condition) => condition.type === type);
  const known = last?.history;
  const hasBeat = !known || last.heartbeatMs !== heartbeatMs;
  const heartbeatSeenMs = hasBeat ? monotonicMs : known.heartbeatSeenMs;
  const writtenMs = Date.parse(lastTransitionTime ?? '');
  const statedMs = Number.isNaN(writtenMs) ? undefined : Math.min(writtenMs, wallMs);
  if (!known || last.status !== status)
    return { seenMs: monotonicMs, isNew: before !== undefined, sinceMs: statedMs, heartbeatSeenMs };
  return { ...known, sinceMs: earlier(known.sinceMs, statedMs), heartbeatSeenMs };
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a !== undefined && b !== undefined ? Math.min(a, b) : (a ?? b);
}

/** Whether a condition has had its status for so long. `readyMs`: when it will have, by the wall clock. */
export type Lasting = { state: 'yes' | 'no' | 'unknown'; readyMs: number };

/**
 * A condition that this replica did not see begin may be older than all that is known of it, but not older than its Node:
 * whether it has lasted is then unknown.
 */
export function lastingOf(
  { history, lastTransitionTime }: ObservedCondition,
  forMs: number,
  { createdAtMs }: { createdAtMs: number },
  { monotonicMs, wallMs }: Moment,
): Lasting {
  const seenMs = history ? history.seenMs - monotonicMs + wallMs : wallMs;
  const statedMs = history ? history.sinceMs : Date.parse(lastTransitionTime ?? '') || undefined;
  const readyMs = Math.min(seenMs, statedMs ?? seenMs) + forMs;
  if (wallMs >= readyMs) return { state: 'yes', readyMs };
  return { state: history?.isNew || wallMs < createdAtMs + forMs ? 'no' : 'unknown', readyMs };
}
