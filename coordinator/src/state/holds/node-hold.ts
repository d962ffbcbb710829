import { NODE_HOLD_SPEC } from '@rollcall/common/checks/node-hold-spec.ts';
import { problemIn } from '@rollcall/common/checks/schema.ts';
import type { NodeHold } from '../../kube/objects.ts';
import type { LabelSelector } from '../../model/label-selector.ts';

/** A NodeHold as it is written, and what was said of it. */
export type ObservedNodeHold = {
  uid: string;
  name: string;
  generation: number;
  /** Those that keep the nodes that they are on; `undefined` where the spec is not understood. */
  pods: HeldPods | undefined;
  /** Names the first field of the spec that is not understood; for people. */
  problem: string | undefined;
  /** As last seen or written; its form is not validated here. */
  status: unknown;
};

export type HeldPods = { namespace: string; selector: LabelSelector };

/** Trims a NodeHold. The API server checked its schema, which may be the schema of a newer version. */
export function observeNodeHold({ metadata, spec = {}, status }: NodeHold): ObservedNodeHold {
  const { uid, name, generation = 0 } = metadata;
  const strange = problemIn(NODE_HOLD_SPEC, spec, 'spec');
  const pods = strange === undefined ? (spec as { pods: HeldPods }).pods : undefined;
  const problem = strange === undefined ? undefined : `${strange} is not known to this version of rollcall`;
  return { uid, name, generation, pods, problem, status };
}
