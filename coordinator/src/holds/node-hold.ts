import type { NodeHold } from '../kube/objects.ts';
import type { LabelSelector } from '../setup/label-selector.ts';

/** A NodeHold as it is written, and what was said of it. */
export type ObservedNodeHold = {
  uid: string;
  name: string;
  generation: number;
  /** Those that keep the nodes that they are on; none where a field says something that nobody here understands. */
  pods: HeldPods | undefined;
  /** Fields of its spec that nobody here knows. */
  unknownFields: readonly string[];
  /** As last seen or written; its form is the business of whoever writes it. */
  status: unknown;
};

export type HeldPods = { namespace: string; selector: LabelSelector };

type Spec = { pods?: HeldPods };

/** Trims a NodeHold. Its schema was checked by the API server. */
export function observeNodeHold({ metadata, spec = {}, status }: NodeHold): ObservedNodeHold {
  const { uid, name, generation = 0 } = metadata;
  const unknownFields = Object.keys(spec).filter((field) => field !== 'pods');
  const pods = unknownFields.length === 0 ? (spec as Spec).pods : undefined;
  return { uid, name, generation, pods, unknownFields, status };
}
