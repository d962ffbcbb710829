/** What to ask of the API server for one Node, and what came of it: the boundary between deciding and writing. */

import type { Taint } from '../fleet/observed-node.ts';

/** A label or an annotation of a Node. */
export type KeyRef = { kind: 'label' | 'annotation'; key: string };

export function keyRefs(labels: Iterable<string>, annotations: Iterable<string>): KeyRef[] {
  return [
    ...[...labels].map((key): KeyRef => ({ kind: 'label', key })),
    ...[...annotations].map((key): KeyRef => ({ kind: 'annotation', key })),
  ];
}

/** The Node that a plan was made for. A Node that was re-created under the same name has another uid. */
export type NodeRef = { name: string; uid: string; resourceVersion: string };

/**
 * Everything that rollcall wants on a Node, for one Server-Side Apply: what is not in it and was applied by rollcall
 * before, is released.
 */
export type NodeSet = {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** Takes keys over from other field managers. Only where every key in the set is one that may be forced. */
  force: boolean;
};

/** Keys to remove whoever owns them, for one merge patch of nulls. */
export type NodeWithdrawal = { labels: string[]; annotations: string[] };

export function withdrawalOf(refs: readonly KeyRef[]): NodeWithdrawal {
  const keysOf = (wanted: KeyRef['kind']) => refs.filter(({ kind }) => kind === wanted).map(({ key }) => key);
  return { labels: keysOf('label'), annotations: keysOf('annotation') };
}

/** Taints to add, and keys of which every taint is to go, given the Node's taints as observed. */
export type TaintChange = { add: readonly Taint[]; remove: readonly string[]; observed: readonly Taint[] };

export type NodePlan = {
  node: NodeRef;
  /** Travels alone, and before the set. */
  withdrawal?: NodeWithdrawal;
  /** Labels of the withdrawal that go before everything else, without the rest of it. */
  ahead?: readonly string[];
  set?: NodeSet;
  /** A request of its own: before the set where it adds, after it where it only removes. */
  taints?: TaintChange;
};

/** Somebody else owns it; the API server takes no such key or value; a policy forbids it. */
export type SetAsideCause = 'foreign' | 'invalid' | 'denied';

/** Why a key with this value is left out for now; `undefined` when it is not. */
export type AskSetAside = (ref: KeyRef, wanted: string) => SetAsideCause | undefined;

/** A wanted key that was not written, and why. It is left out until what is wanted, or what is on the Node, changes. */
export type SetAsideKey = KeyRef & {
  cause: SetAsideCause;
  /** The value that was wanted. */
  wanted: string;
  /** For people: who owns it, or what the API server said. */
  message: string;
};
