import type { NodeSnapshot } from '../fleet/snapshot.ts';

/** What a labeler says about one key of one node. README.md of this room explains stance and ownership. */
export type Claim = {
  kind: 'label' | 'annotation';
  key: string;
  value: string;
  stance: 'want' | 'hold' | 'withhold';
  ownership: 'exclusive' | 'shared';
  /** One sentence for people: the evidence, or what is missing. */
  reason: string;
};

export type Labeler = {
  name: string;
  claims: (snapshot: NodeSnapshot) => Claim[];
};
