/**
 * Labels that a node does not have, and that it may still get: what decides about them has not spoken yet. A label that
 * other clients write as well, such as NFD's, is undecided only where its absence is asked for (`isDenied`): where it is
 * asked for, it counts as absent until it comes.
 */
export type Undecided = {
  /** Agents are switched off: what only they see counts as absent where it is asked for, but not where its absence is. */
  isAgentless?: boolean;
  /** Why it is unknown whether the node gets the label, as a clause; `undefined` if that is known. */
  label(key: string, isDenied: boolean): string | undefined;
  /** The same for any label that matches a pattern. */
  matching(glob: string, isDenied: boolean): string | undefined;
};

/** Why it is unknown whether a node gets a label that it does not have; `undefined` if that is known. */
export type UndecidedLabel = (key: string) => string | undefined;

export const NOTHING_UNDECIDED: Undecided = { label: () => undefined, matching: () => undefined };
