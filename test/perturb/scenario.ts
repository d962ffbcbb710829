import type { Run } from './run.ts';

export type Step = {
  name: string;
  act: (run: Run) => Promise<unknown>;
  /** Keys of rollcall on each Node when all is quiet. */
  ours: Readonly<Record<string, readonly string[]>>;
  /** No coordinator leads at the end. */
  unled?: true;
};

export type Scenario = {
  name: string;
  /** A status may show the services of a new node as unknown for a moment. */
  hasNewNodes?: boolean;
  /** Nothing is done to it, and its writes are not counted. */
  setup: Step;
  /** Each begins when all is quiet. */
  steps: readonly Step[];
};
