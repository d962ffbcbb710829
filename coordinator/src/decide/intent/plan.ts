/** The plan for one Node and its result: the boundary between deciding and writing. */

import type { KeyKind } from '../../model/keys/key-entry.ts';
import type { NodeCondition } from '../../state/observed-conditions.ts';
import type { Taint } from '../../state/observed-node.ts';

/** A label or an annotation of a Node. */
export type KeyRef = { kind: 'label' | 'annotation'; key: string };

/** A key of any kind on a Node; of a condition its type. */
export type NodeKeyRef = { kind: KeyKind; key: string };

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

/** Keys to remove, whatever their owner, by one merge patch of nulls. */
export type NodeWithdrawal = { labels: string[]; annotations: string[] };

export function withdrawalOf(refs: readonly KeyRef[]): NodeWithdrawal {
  const keysOf = (wanted: KeyRef['kind']) => refs.filter(({ kind }) => kind === wanted).map(({ key }) => key);
  return { labels: keysOf('label'), annotations: keysOf('annotation') };
}

/** Taints to add, and keys of which every taint is to go, given the Node's taints as observed. */
export type TaintChange = {
  add: readonly Taint[];
  remove: readonly string[];
  observed: readonly Taint[];
  /** The list of keys on the Node changes in the same request. */
  keys?: AnnotationChange;
};

/** Conditions to write to the status of a Node, in a request that has nothing else in it. */
export type ConditionChange =
  | {
      write: 'apply';
      /** All that rollcall wants: what it applied before and is not among them, is let go of. */
      conditions: readonly NodeCondition[];
      /** Types of those that are other than on the Node; the rest is sent as it is there. */
      news: readonly string[];
      /** The conditions of `news` that are ours, as they are on the Node. */
      before: readonly NodeCondition[];
      /** The conditions that are let go of, as they are on the Node. */
      released: readonly NodeCondition[];
      /** Takes entries that have no owner. No entry of another writer is among the conditions. */
      force: boolean;
      /** One of the news keeps pods away. */
      keepsAway: boolean;
      /** There is something to apply now. */
      due: boolean;
      /** Conditions to write once the Node lists them as ours; the request for taints changes that list. */
      waiting: readonly NodeCondition[];
    }
  /** Removes by index, because an empty apply would also remove the conditions of the status that have no owner. */
  | { write: 'remove'; conditions: readonly { type: string; index: number }[] }
  /** Gives up what rollcall owns as well as others, by the index of its entry in managedFields. */
  | { write: 'disown'; entry: number };

/** `undefined` where it is absent. `intoNone`: the Node has no annotation at all. */
export type AnnotationChange = { before: string | undefined; after: string | undefined; intoNone?: true };

export type NodePlan = {
  node: NodeRef;
  /** Travels alone, and before the set. */
  withdrawal?: NodeWithdrawal;
  /** Labels of the withdrawal that go before everything else, without the rest of it. */
  ahead?: readonly string[];
  set?: NodeSet;
  /** A request of its own: before the set where it adds, after it where it only removes. */
  taints?: TaintChange;
  /** Conditions in a request of their own; before the set where they keep pods away. */
  conditions?: ConditionChange;
  /** Keys that are not written because another writer has them, and that are not skipped yet. */
  foreign?: readonly ForeignKey[];
};

/**
 * Another writer owns it; the API server takes no such key or value; a policy forbids it; another writer changes it back.
 */
export type SkippedCause = 'foreign' | 'invalid' | 'denied' | 'contested';

/** Why a key is left out for now, with this value, or with `undefined` one that is to go; `undefined` where it is not. */
export type AskSkipped = (ref: NodeKeyRef, wanted: string | undefined) => SkippedCause | undefined;

/** The answer for a Node of which no key is left out. */
export const NOTHING_SKIPPED: AskSkipped = () => undefined;

/** A key that is left out for now, and why. */
export type SkippedKey = NodeKeyRef & {
  cause: SkippedCause;
  /** The value that was wanted; `undefined` where the key was to go. */
  wanted: string | undefined;
  /** A message for people: who owns it, or the error of the API server. */
  message: string;
  /** Of a contested key: who changes it back. */
  rival?: string;
};

/** A key that another writer has. */
export type ForeignKey = SkippedKey & { cause: 'foreign'; wanted: string };

/** A key that does not stay as it is written, and who changes it back. */
export type ContestedKey = NodeKeyRef & { wanted: string | undefined; rival: string };
