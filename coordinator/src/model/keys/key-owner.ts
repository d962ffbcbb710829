/**
 * Something that wants a key of Nodes: a built-in service, a NodeService, a NodePoolLabels or NodePoolLabelSet, a rule. The
 * startup gate, devices and facts have their keys by a name or a prefix, which `own-keys.ts` reserves whatever the flags: no
 * other can ever have set such a key, so they claim none, and `KeyRegistry.refusal` refuses whoever asks for it.
 */
export type Claimant = {
  /** For people: its kind and name. */
  name: string;
  /**
   * By the wall clock, in milliseconds since the epoch; infinite for a rule, since a file has no age, and minus infinity for
   * a built-in service.
   */
  createdAtMs: number;
  /** Whether a Node lists the key as set because of it. */
  isOnNodes: boolean;
};

/**
 * Returns the one of several claimants that has a key. Whoever has it on Nodes keeps it, so that no newcomer takes anything
 * out of force; where several have it, or none, the oldest has it, and of objects of one age the one that comes first by
 * name. What is on Nodes outlives every term, so each leader finds the same owner.
 */
export function ownerOf<C extends Claimant>(claimants: readonly C[]): C | undefined {
  return claimants.toSorted(
    (a, b) =>
      Number(b.isOnNodes) - Number(a.isOnNodes) || compare(a.createdAtMs, b.createdAtMs) || (a.name < b.name ? -1 : 1),
  )[0];
}

function compare(a: number, b: number): number {
  // Two rules are of the same age.
  return a === b ? 0 : a - b;
}
