import type { Predicate } from '../../model/inventory/predicate.ts';

/** A predicate, or that it is not so. */
export type Literal = { predicate: Predicate; isNegated: boolean };

/** One line of a rule file: all of it has to be so. `line` counts from 1; `text` is without comment and outer space. */
export type Condition = {
  line: number;
  text: string;
  literals: readonly Literal[];
  /** Of the label, where this line decides. */
  value: string;
};

/** What is wrong with the rule files: with one of them, or with a line of it. */
export type RuleProblem = {
  /** Relative to the label directory. */
  file: string;
  /** Counts from 1; absent where it is about the whole file. */
  line?: number;
  /** Counts from 1; absent where it is about the whole line. */
  column?: number;
  problem: string;
};
