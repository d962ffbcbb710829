import { hasCode } from '@rollcall/common/coded-error.ts';
import { isTimeout } from '../kube/client.ts';
import type { WriteOutcome } from './classify.ts';
import type { Priority } from './work-queue.ts';

/** How a turn ended, and so when the Node is looked at again. */
export type TurnEnd =
  /** There is nothing left to write. */
  | { kind: 'holds' }
  /** Tried again at once, with the keys that are left. */
  | { kind: 'again'; priority: Priority }
  /** Tried again after the delay that the API server asked for. */
  | { kind: 'later'; priority: Priority; delayMs: number }
  /** Tried again after the Node's own backoff. */
  | { kind: 'retry'; error: unknown }
  /** The watch will tell that the Node is gone. Should the plan still know it by then, it is looked at again. */
  | { kind: 'gone' }
  /** This replica must not write. */
  | { kind: 'dropped' };

export const DROPPED: TurnEnd = { kind: 'dropped' };

/** Returns how the turn ends after an outcome that the turn does not handle itself. */
export function endOf(outcome: WriteOutcome, priority: Priority): TurnEnd {
  switch (outcome.kind) {
    case 'fenced':
      return DROPPED;
    case 'gone':
      return { kind: 'gone' };
    case 'throttled':
      return { kind: 'later', priority, delayMs: outcome.retryAfterMs };
    case 'failed':
      // While no connection is made, the limiter makes all wait; a backoff of its own would outlast the outage.
      return hasCode(outcome.error, 'KUBE_UNREACHABLE') && !isTimeout(outcome.error)
        ? { kind: 'again', priority }
        : { kind: 'retry', error: outcome.error };
  }
  return { kind: 'retry', error: undefined };
}
