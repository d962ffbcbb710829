/** What planner and writer ask a kind of key, and a request to a Node. `kinds.ts` has a row for each. */

import type { ObservedNode, Taint } from '../../../state/observed-node.ts';
import type { Claim } from '../../labelers/labeler.ts';
import type { IntentEntry, NodeIntent } from '../intent.ts';
import type {
  AskSkipped,
  ConditionChange,
  KeyRef,
  NodeKeyRef,
  NodePlan,
  NodeRef,
  NodeSet,
  NodeWithdrawal,
  TaintChange,
} from '../plan.ts';

/** The keys of a Node, as a watch or an answer shows them; `undefined` is not known. */
export type Shown = {
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  taints?: readonly Taint[] | undefined;
  conditions?: readonly { type: string; status: string }[] | undefined;
};

/** A Node as the planner sees it. */
export type SeenNode = Shown & {
  name: string;
  uid: string;
  /** What rollcall applied. */
  owned: { labels: ReadonlySet<string>; annotations: ReadonlySet<string> };
  /** The conditions that rollcall owns, and who else owns conditions. */
  conditionOwners?: { ours: ReadonlySet<string>; rivals: ReadonlyMap<string, string> };
};

/** A request that changes the list of keys as well: the apply of a set, or a change of taints. */
export type ListingRequest = { set: NodeSet; askSkipped: AskSkipped } | { taints: TaintChange };

/** One kind of key. */
export type KeyModule = {
  /** Whether the Node shows keys of this kind: an answer with metadata alone shows no taints and no conditions. */
  isShown(node: Shown): boolean;
  /** The value of a key as people read it, `undefined` where it is absent. */
  valueOn(node: Shown, key: string): string | undefined;
  /** The value that a claim wants, as `valueOn` shows it. */
  wantedValue(claim: Pick<Claim, 'value' | 'effect'>): string;
  /** Plans the request for keys of this kind, where it is one of their own. */
  plan?(node: ObservedNode, intent: NodeIntent, askSkipped: AskSkipped): Partial<NodePlan>;
  /** The keys that a plan changes, with the values that they have after it; also those that it writes as they are. */
  planned(plan: NodePlan, node: ObservedNode): Iterable<readonly [key: string, value: string | undefined]>;
  /** A wanted key that is left out for now stays as it is. The planner of another kind asks about it. */
  staysIfSkipped?: true;
  /** Whether a Node lists the key after the request, given whether it does before; no kind without it is listed. */
  isListed?(entry: IntentEntry, isListed: boolean, node: ObservedNode, request: ListingRequest): boolean;
  /** Whether the request gives the key the value of the claim, and with it its origin; defaults to yes. */
  isSetBy?(entry: IntentEntry, request: ListingRequest): boolean;
  /** The other field manager that the Node shows as the owner. */
  rivalOn?(node: SeenNode, key: string): string | undefined;
  /** The path of the key in the fields of managedFields. */
  ownedAs(key: string): readonly string[];
  /** The field of a Node, by which an answer names keys of this kind. */
  field: string;
  /** The key that the field of a conflict names, without its leading dot. */
  keyIn?(field: string): string | undefined;
  /** Whether the API server takes key and value: it names a malformed key in no field. */
  isWellFormed?(key: string, value: string): boolean;
};

/** What one request writes to a Node. */
export type Write =
  | { write: 'set'; set: NodeSet }
  | { write: 'withdraw'; keys: NodeWithdrawal }
  | { write: 'taints'; taints: TaintChange }
  | { write: 'conditions'; conditions: ConditionChange };

/** A key that a request changes; `wanted` is `undefined` where it is to go. */
export type KeyChange = NodeKeyRef & {
  wanted: string | undefined;
  /** Whether it keeps pods away, and so is worth a try every few seconds. */
  keepsAway: boolean;
};

/** A PATCH of a Node. */
export type Patch = {
  form: 'apply' | 'merge' | 'json';
  subresource?: 'status';
  /** Takes fields over from other managers. */
  force?: boolean;
  body: unknown;
  /** Asks for the whole Node as it is after the write, with its spec and status. */
  whole?: boolean;
};

/** An operation of a JSON patch (RFC 6902). */
export type Operation =
  | { op: 'test'; path: string; value: unknown }
  | { op: 'add'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/** One kind of request. `W` is what it writes. */
export type WriteModule<W extends Write = Write> = {
  /**
   * What of a plan can be sent now, in turn. What is urgent keeps pods away, and waits for nothing that is not. `isDone`:
   * whether a key was removed already.
   */
  steps(plan: NodePlan, isDone: (ref: KeyRef) => boolean): (W & { urgent: boolean })[];
  /** `ifUnchanged`: only if the Node is still what was observed. */
  patch(write: W, node: NodeRef, ifUnchanged: boolean): Patch;
  /** The keys that it changes, with those that the Node shows as wanted already. */
  changes(write: W): KeyChange[];
  /** The keys for which it may be refused. */
  suspects(write: W, seen: SeenNode | undefined): NodeKeyRef[];
  /** The same with some of the suspects: all others stay as they are on the Node, and are listed as they were. */
  part(write: W, suspects: readonly NodeKeyRef[], seen: SeenNode | undefined): W;
  /** What it lets go of. */
  released?(write: W, seen: SeenNode): KeyRef[];
};

/** The body of a Server-Side Apply. With force, it is good for the Node's resource version only. */
export function applyPatch(
  { name, uid, resourceVersion }: NodeRef,
  { force, isBound, metadata, ...rest }: { force: boolean; isBound: boolean; metadata?: object; status?: object },
): Patch {
  const version = force || isBound ? { resourceVersion } : {};
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, uid, ...version, ...metadata }, ...rest };
  return { form: 'apply', force, body };
}

/** A JSON patch of this one Node. */
export function jsonPatch({ uid, resourceVersion }: NodeRef, isBound: boolean, operations: Operation[]): Patch {
  const version: Operation[] = isBound
    ? [{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }]
    : [];
  return { form: 'json', body: [...version, { op: 'test', path: '/metadata/uid', value: uid }, ...operations] };
}

/** Whether a key is among these. */
export function isAmong(refs: readonly NodeKeyRef[]): (key: string) => boolean {
  const keys = new Set(refs.map(({ key }) => key));
  return (key) => keys.has(key);
}
