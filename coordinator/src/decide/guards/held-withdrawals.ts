/** What a guard keeps on nodes for now, although it should go. */
export type HeldWithdrawals = {
  guard: 'observer' | 'blast-radius';
  /** The service, or the key of the label. */
  of: string;
  /** On how many nodes. */
  nodes: number;
};
