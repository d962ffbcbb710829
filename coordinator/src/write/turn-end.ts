import { hasCode } from '@rollcall/common/coded-error.ts';
import { isTimeout } from '../kube/client.ts';
import type { Priority } from './work-queue.ts';
import type { GateOutcome } from './write-gate.ts';

/** How a turn ended, and so when the Node is looked at again. */
export type TurnEnd =
  /** There is nothing left to write. */
  | { kind: 'holds' }
  /** At once, with what is left. */
  | { kind: 'again'; priority: Priority }
  /** After so long, which the API server asked for. */
  | { kind: 'later'; priority: Priority; delayMs: number }
  /** After the Node's own backoff. */
  | { kind: 'retry'; error: unknown }
  /** The watch will tell that the Node is gone. Should the plan still know it by then, it is looked at again. */
  | { kind: 'gone' }
  /** Not by this replica. */
  | { kind: 'dropped' };

/** Where what came of a write is not for the turn itself to deal with. */
export function endOf(outcome: GateOutcome, priority: Priority): TurnEnd {
  switch (outcome.kind) {
    case 'fenced':
      return { kind: 'dropped' };
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
