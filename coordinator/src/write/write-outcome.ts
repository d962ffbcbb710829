import type { ConditionRef, KeyRef } from '../decide/intent/plan.ts';
import type { Node } from '../kube/objects.ts';

/** A key that other field managers hold with another value. */
export type ForeignKey = {
  ref: KeyRef | ConditionRef;
  /** For people: the managers' names, separated by commas. */
  owner: string;
};

/** What came of one write to a Node. */
export type WriteOutcome =
  /** It holds; `node` is as the API server has it now, whole only after a write to the taints. */
  | { kind: 'applied'; node: Node }
  /**
   * Nothing was written: other managers own these keys, which are all conflicts. Empty if only the map of the keys
   * conflicts: the first manager that annotated a Node owns its map of annotations, even after it was emptied.
   */
  | { kind: 'conflict'; foreign: ForeignKey[] }
  /** Nothing was written: the Node is not what the plan was made from. It changed, or went. */
  | { kind: 'stale' }
  /** There is no such Node any more; one of that name may be another. */
  | { kind: 'gone' }
  /** Nothing was written: keys or values are malformed. Without `keys`, the rules known here do not tell which. */
  | { kind: 'invalid'; keys: KeyRef[]; message: string }
  /** Nothing was written: authorization or an admission policy refused the request, which does not say for which key. */
  | { kind: 'denied'; message: string }
  /** The API server asked for patience: for all requests, or for those to this Node, as a webhook can. */
  | { kind: 'throttled'; retryAfterMs: number; isForAll: boolean }
  /** Whether anything was written is not known, or the fault is not in what was sent. */
  | { kind: 'failed'; error: unknown };
