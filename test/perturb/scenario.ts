import type { Run } from './run.ts';

export type Step = {
  name: string;
  act: (run: Run) => Promise<unknown>;
  /** By Node, what of rollcall's is on it when all is quiet. */
  ours: Readonly<Record<string, readonly string[]>>;
  /** No coordinator leads at the end. */
  unled?: true;
};

export type Scenario = {
  name: string;
  /** Nothing is done to it, and its writes are not counted. */
  setup: Step;
  /** Each begins when all is quiet. */
  steps: readonly Step[];
};
