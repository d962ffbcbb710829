/** Keys that a guard keeps on nodes for now. */
export type HeldWithdrawals = {
  guard: 'observer' | 'blast-radius';
  /** The service, or the key of the label. */
  of: string;
  /** The number of nodes. */
  nodes: number;
};
