import type { ContestedKey } from '../apply/contested-keys.ts';
import type { RefusedWithdrawal } from '../apply/refused-withdrawals.ts';
import type { ObservedNode } from '../fleet/observed-node.ts';
import type { DatedChange } from './intent/changes.ts';
import type { NodeIntent } from './intent/intent.ts';
import type { NodePlan, SetAsideKey } from './intent/plan.ts';
import type { JudgedNode } from './labelers/labeler.ts';

/** What one node says at one moment, what is wanted of it, and what stands in the way. */
export type Witness = {
  node: ObservedNode;
  judged: JudgedNode;
  intent: NodeIntent;
  setAside: readonly SetAsideKey[];
  contested: readonly ContestedKey[];
  refusedWithdrawals: readonly RefusedWithdrawal[];
};

/** Everything that is known about one node at one moment. */
export type NodeFacts = Witness & {
  plan: NodePlan | undefined;
  changes: readonly DatedChange[];
  /** Since the last report, in milliseconds. */
  quietMs: number | undefined;
};
