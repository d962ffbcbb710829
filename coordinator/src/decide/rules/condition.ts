import type { Predicate } from '../../model/inventory/predicate.ts';

/** A predicate, or that it is not so. */
export type Literal = { predicate: Predicate; isNegated: boolean };

/**
 * One line of a rule file: every literal has to hold. `line` counts from 1; `text` is without comment and outer space.
 */
export type Condition = {
  line: number;
  text: string;
  literals: readonly Literal[];
  /** The value of the label if this line decides. */
  value: string;
};

/** A problem of the rule files: of a file, or of a line in it. */
export type RuleProblem = {
  /** Relative to the label directory. */
  file: string;
  /** Counts from 1; absent where it is about the whole file. */
  line?: number;
  /** Counts from 1; absent where it is about the whole line. */
  column?: number;
  problem: string;
};
