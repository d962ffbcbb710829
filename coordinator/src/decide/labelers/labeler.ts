import type { Cause } from '../../model/inventory/cause.ts';
import type { TaintEffect } from '../../model/services.ts';
import type { NodeHolds } from '../../state/holds/holds.ts';
import type { Origin } from '../../state/node-keys.ts';
import { emptyRecord } from '../../state/observed-node.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import type { NodeReadiness } from '../readiness/tracker.ts';

/** The claim of a labeler on one key of one node. README.md of this room explains stance and ownership. */
export type Claim = {
  kind: 'label' | 'annotation' | 'taint' | 'condition';
  key: string;
  value: string;
  /** The effect of a taint; defaults to `NoSchedule`. */
  effect?: TaintEffect;
  stance: 'present' | 'keep' | 'absent';
  ownership: 'exclusive' | 'forced' | 'shared';
  /** One sentence for people: the evidence, or what is missing. */
  reason: string;
  /** Why the stance is so. */
  cause: Cause;
  /** Why rollcall sets the key at all, as listed on the Node. Annotations have no origin. */
  origin?: Origin;
  /** Reason and message of a wanted condition. The value of the claim is the status. */
  news?: ConditionNews;
  /** Since when the stance is so, by the wall clock, if it depends on the readiness of a service. */
  sinceMs?: number;
  /** The object or rule that asks for the key, or no longer does; absent where a flag does. */
  object?: string;
  /** It would be wanted if another writer had not given it another value. */
  isForeign?: true;
  /** Another program listed the label as a pool's, and rollcall leaves it on the node until a person decides. */
  isLeft?: true;
  /** What the startup gate requires that the node lacks. */
  missing?: readonly string[];
  /** DaemonSets are among them. */
  awaitsDaemonSets?: true;
};

/** The fields of a condition besides its status. */
type ConditionNews = {
  /** The reason in CamelCase. */
  reason: string;
  message: string;
  /** RFC 3339. */
  at: string;
  /** Reason and message also take the place of others while the status stays as it is. */
  replacesText?: true;
};

/** A node at one moment, and what was made of its services. */
export type EvaluatedNode = NodeSnapshot & {
  readiness: NodeReadiness;
  holds: NodeHolds;
  ageMs: number;
  /** The Node came while this replica led. */
  isNew?: boolean;
  /** How long the node has waited where it has the startup taint; `gate-waits.ts` counts it. */
  waitedMs?: number;
  /** Whether texts of conditions may change by themselves now. */
  textsDue?: boolean;
  /** When kube-scheduler was to be told to try again here, by this replica; RFC 3339. */
  schedulingHint?: string | undefined;
  /** Labels that this replica removed, with the values that they had, of which the node may not tell yet. */
  takenLabels?: Readonly<Record<string, string>> | undefined;
};

export type Labeler = {
  name: string;
  claims: (node: EvaluatedNode) => Claim[];
};

/** The claims on each label so far, by key. */
export type LabelWishes = ReadonlyMap<
  string,
  Pick<Claim, 'stance' | 'ownership' | 'value' | 'origin'> & Partial<Pick<Claim, 'cause'>>
>;

/** The claims so far, by `kind:key`. */
export type Claimed = ReadonlyMap<string, Pick<Claim, 'kind' | 'key'>>;

/** A labeler whose claims depend on the claims of those before it. */
export type Consequence = {
  name: string;
  claims: (node: EvaluatedNode, wishes: LabelWishes, claimed: Claimed) => Claim[];
};

export type Labelers = {
  /** Their order does not matter. */
  labelers: readonly Labeler[];
  /** One after the other. */
  consequences: readonly Consequence[];
};

/**
 * The labels that a node has once all claims are written. Labels that only rollcall applied, and that no labeler
 * claims, go.
 */
export function labelsAfter(node: EvaluatedNode, wishes: LabelWishes): Record<string, string> {
  const after = emptyRecord();
  const put = (key: string) => {
    const value = labelAfter(node, wishes, key);
    if (value !== undefined) after[key] = value;
  };
  for (const key of Object.keys(node.labels)) put(key);
  for (const key of wishes.keys()) if (node.labels[key] === undefined) put(key);
  return after;
}

/** The same for one label; `undefined` where it is not there then. */
export function labelAfter(node: EvaluatedNode, wishes: LabelWishes, key: string): string | undefined {
  const there = node.labels[key];
  const isOurs = node.ownedLabels.has(key);
  const kept = isOurs && !node.sharedLabels.has(key) ? undefined : there;
  const wish = wishes.get(key);
  switch (wish?.stance) {
    case 'keep':
      return there;
    case 'absent':
      return wish.ownership === 'exclusive' ? undefined : kept;
    case 'present':
      return wish.ownership !== 'shared' || there === undefined || isOurs ? wish.value : kept;
  }
  return kept;
}

/**
 * An annotation that rollcall keeps for itself; without a value it is removed. Where it is ours it changes in the same
 * request as the labels that it is about, and in a separate request where another writer changed it.
 */
export function ownNote(
  { annotations, ownedAnnotations }: EvaluatedNode,
  key: string,
  { value, reason }: { value: string | undefined; reason: string },
): Claim[] {
  const note = { kind: 'annotation', key, reason, cause: 'evidence' } as const;
  if (value !== undefined) return [{ ...note, value, stance: 'present', ownership: 'forced' }];
  if (annotations[key] === undefined) return [];
  const ownership = ownedAnnotations.has(key) ? 'forced' : 'exclusive';
  return [{ ...note, value: '', stance: 'absent', ownership }];
}

/** The claim for a label that another writer set before rollcall could: it stays, whatever its value. */
export function theirLabel(key: string, value: string, there: string): Claim {
  const reason = `already has the value ${JSON.stringify(there)}, set by another client`;
  const claim = {
    kind: 'label',
    key,
    value,
    stance: 'absent',
    ownership: 'shared',
    reason,
    cause: 'evidence',
  } as const;
  return there === value ? claim : { ...claim, isForeign: true };
}
