import { globMatches, isGlob } from './glob.ts';

/** One line of a rule file. `line` counts from 1; `text` is the line without comment and surrounding space. */
export type Condition = { line: number; text: string } & (LabelCondition | ResourceCondition);

/** Holds on a node with a label whose key, and value where one is given, are these or match these globs. */
export type LabelCondition = { kind: 'label'; key: string; value: string | undefined };

/** Holds on a node that has some of a resource to allocate. */
export type ResourceCondition = { kind: 'resource'; name: string };

/** What is wrong with the rule files: with one of them, or with a line of it. */
export type RuleProblem = {
  /** Relative to the label directory. */
  file: string;
  /** Counts from 1; absent where it is about the whole file. */
  line?: number;
  problem: string;
};

export function valueMatches({ value: wanted }: LabelCondition, value: string): boolean {
  if (wanted === undefined || wanted === value) return true;
  return isGlob(wanted) && globMatches(wanted, value);
}
