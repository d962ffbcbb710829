import { describeError, hasCode } from '@rollcall/common/coded-error.ts';
import type { KeyChange } from '../decide/intent/kinds/kind.ts';
import { KINDS } from '../decide/intent/kinds/kinds.ts';
import type { NodeKeyRef } from '../decide/intent/plan.ts';
import { KubeStatusError } from '../kube/client.ts';
import type { KubeStatus, Node } from '../kube/objects.ts';

/** A key that other field managers hold with another value. */
type ForeignKey = {
  ref: NodeKeyRef;
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
  /** Nothing was sent: this replica may not write any more. */
  | { kind: 'fenced' }
  /** There is no such Node any more; one of that name may be another. */
  | { kind: 'gone' }
  /** Nothing was written: keys or values are malformed. Without `keys`, the rules known here do not tell which. */
  | { kind: 'invalid'; keys: NodeKeyRef[]; message: string }
  /** Nothing was written: authorization or an admission policy refused the request, which does not say for which key. */
  | { kind: 'denied'; message: string }
  /** The API server asked for patience: for all requests, or for those to this Node, as a webhook can. */
  | { kind: 'throttled'; retryAfterMs: number; isForAll: boolean }
  /** Whether anything was written is not known, or the fault is not in what was sent. */
  | { kind: 'failed'; error: unknown };

type Cause = { reason?: string; message?: string; field?: string };

/** The shortest wait that the API server can ask for, since Retry-After has whole seconds; also where it names none, or 0. */
const RETRY_AFTER_MIN_MS = 1000;

/** The fields of a Node whose keys the API server checks one by one, and in which it names none that is malformed. */
const MAPS = Object.values(KINDS).flatMap(({ field, isWellFormed }) => (isWellFormed ? field : []));

/**
 * Classifies the error that a write ended with, by status, reason and the causes' fields, never by a message; the
 * README has the table. `sent` is what the write changed.
 */
export function classifyWriteError(error: unknown, sent: readonly KeyChange[]): WriteOutcome {
  if (hasCode(error, 'LEADERSHIP_LOST')) return { kind: 'fenced' };
  if (!(error instanceof KubeStatusError)) return { kind: 'failed', error };
  switch (error.status) {
    case 404:
      return { kind: 'gone' };
    case 409:
      return classifyConflict(error);
    case 422:
      return classifyUnprocessable(error, sent);
    case 403:
    case 413:
      return { kind: 'denied', message: describeError(error) };
    case 429:
      return throttled(error);
  }
  if (error.status >= 500 && error.retryAfterMs !== undefined) {
    return throttled(error);
  }
  return { kind: 'failed', error };
}

/** What answers in front of admission, the API server's own filter or a proxy, does not answer with a Status. */
function throttled({ retryAfterMs = 0, details }: KubeStatusError): WriteOutcome {
  const isForAll = details.kind !== 'Status';
  return { kind: 'throttled', retryAfterMs: Math.max(RETRY_AFTER_MIN_MS, retryAfterMs), isForAll };
}

function classifyConflict(error: KubeStatusError): WriteOutcome {
  const conflicts = causesOf(error.details).filter(({ reason }) => reason === 'FieldManagerConflict');
  const foreign = foreignKeys(conflicts);
  const aboutMap = conflicts.some(({ field }) => MAPS.some((map) => field === `.${map}`));
  if (foreign.length > 0 || aboutMap) return { kind: 'conflict', foreign };
  if (conflicts.length > 0) return { kind: 'failed', error };
  // Of the rest nothing but the message tells what it is: a resource version that has passed, a uid without an object, or
  // a conflict that lasted through the API server's own tries (of admission, say). The watch tells, and soon.
  return { kind: 'stale' };
}

function foreignKeys(conflicts: readonly Cause[]): ForeignKey[] {
  const found = new Map<string, ForeignKey>();
  for (const { field = '', message = '' } of conflicts) {
    const ref = refOf(field);
    if (!ref) continue;
    const owner = managerIn(message);
    // Of a condition each field is named.
    const id = `${ref.kind}:${ref.key}`;
    const known = found.get(id);
    if (!known) found.set(id, { ref, owner });
    else if (!known.owner.split(', ').includes(owner)) known.owner = `${known.owner}, ${owner}`;
  }
  return [...found.values()];
}

/** Out of `.metadata.labels.example.com/key`, or `.status.conditions[type="example.com/Key"].status`. */
function refOf(field: string): NodeKeyRef | undefined {
  for (const [kind, { keyIn }] of Object.entries(KINDS) as [NodeKeyRef['kind'], (typeof KINDS)[NodeKeyRef['kind']]][]) {
    const key = keyIn?.(field.slice(1));
    if (key !== undefined) return { kind, key };
  }
  return undefined;
}

/** The manager's name stands nowhere else. It is for people only: nothing depends on it. */
function managerIn(message: string): string {
  return /"(.+?)"/.exec(message)?.[1] ?? message;
}

function classifyUnprocessable(error: KubeStatusError, sent: readonly KeyChange[]): WriteOutcome {
  const causes = causesOf(error.details);
  const message = describeError(error);
  if (causes.some(({ field }) => field === 'metadata.uid')) return { kind: 'gone' };
  const maps = MAPS.filter((map) => causes.some(({ field }) => field?.startsWith(map)));
  if (maps.length > 0) {
    const keys = sent.filter((change) => maps.includes(KINDS[change.kind].field) && isMalformed(change));
    return { kind: 'invalid', keys: keys.map(({ kind, key }) => ({ kind, key })), message };
  }
  if (causes.some(({ field, reason }) => field === undefined && reason === undefined))
    return { kind: 'denied', message };
  // A JSON patch whose `test` did not hold has no details at all; a taint that is there already is a duplicate.
  const isOutdated = causes.every(({ reason }) => reason === 'FieldValueDuplicate');
  // What is said of taints or of the status, as a webhook may: the keys of that request are refused, and nothing else.
  return isOutdated ? { kind: 'stale' } : { kind: 'denied', message };
}

function isMalformed({ kind, key, wanted }: KeyChange): boolean {
  return wanted !== undefined && KINDS[kind].isWellFormed?.(key, wanted) === false;
}

function causesOf(status: KubeStatus): readonly Cause[] {
  return status.details?.causes ?? [];
}
