import type { NodeSnapshot } from '../fleet/snapshot.ts';
import type { NodeReadiness } from '../readiness/tracker.ts';

/** What a labeler says about one key of one node. README.md of this room explains stance and ownership. */
export type Claim = {
  kind: 'label' | 'annotation' | 'taint';
  key: string;
  value: string;
  stance: 'want' | 'hold' | 'withhold';
  ownership: 'exclusive' | 'forced' | 'shared';
  /** One sentence for people: the evidence, or what is missing. */
  reason: string;
  /** Since when the stance is so, by the wall clock, where it goes by what a service is. */
  sinceMs?: number;
};

/** A node at one moment, and what was made of its services. */
export type JudgedNode = NodeSnapshot & {
  readiness: NodeReadiness;
  ageMs: number;
  /** When kube-scheduler was to be told to try again here, by this replica; RFC 3339. */
  schedulingHint?: string | undefined;
  /** Labels that this replica removed, with the values that they had, of which the node may not tell yet. */
  takenLabels?: Readonly<Record<string, string>> | undefined;
};

export type Labeler = {
  name: string;
  claims: (node: JudgedNode) => Claim[];
};

/** What was claimed of each label so far, by key. */
export type LabelWishes = ReadonlyMap<string, Pick<Claim, 'stance' | 'ownership' | 'value'>>;

/** A labeler that goes by what those before it want of the labels. */
export type Consequence = {
  name: string;
  claims: (node: JudgedNode, wishes: LabelWishes) => Claim[];
};

export type Labelers = {
  /** Their order does not matter. */
  labelers: readonly Labeler[];
  /** One after the other. */
  consequences: readonly Consequence[];
};
