import type { Cause } from '../../model/inventory/cause.ts';
import type { TaintEffect } from '../../model/services.ts';
import type { NodeHolds } from '../../state/holds/holds.ts';
import type { Origin } from '../../state/node-keys.ts';
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
  /** Reason and message of a wanted condition, used if its status changes. The value of the claim is the status. */
  news?: ConditionNews;
  /** Since when the stance is so, by the wall clock, if it depends on the readiness of a service. */
  sinceMs?: number;
  /** The object or rule that asks for the key, or no longer does; absent where a flag does. */
  object?: string;
  /** It would be wanted if another writer had not given it another value. */
  isForeign?: true;
};

/** The fields of a condition besides its status, set when the status changes. */
type ConditionNews = {
  /** The reason in CamelCase. */
  reason: string;
  message: string;
  /** RFC 3339. */
  at: string;
};

/** A node at one moment, and what was made of its services. */
export type EvaluatedNode = NodeSnapshot & {
  readiness: NodeReadiness;
  holds: NodeHolds;
  ageMs: number;
  /** How long the node has waited where it has the startup taint; `gate-waits.ts` counts it. */
  waitedMs?: number;
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
