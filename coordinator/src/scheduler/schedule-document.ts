import { refusalsOf } from './rules.ts';
import type { Limits, Place } from './schedulable-node.ts';
import type { SchedulingPod } from './scheduling-pod.ts';
import { type ExplainedTerm, explainTerms, type ScoreWeights, scoresOf, worthOf } from './score.ts';

export type ScheduleDocument = {
  pod: { namespace: string; name: string; workspace: string; images: readonly string[] };
  limits: Limits;
  nodes: NodeScheduleDocument[];
};

type NodeScheduleDocument = {
  name: string;
  passes: boolean;
  /** Every rule that objects; the scheduler is told the first. */
  refusals: { rule: string; message: string; evidence?: string }[];
  /** As the scheduler would be told if it asked about the nodes that pass; 0 for the others. */
  score: number;
  /** What speaks for the node, from 0 to 1: the mean of its terms by their weights. */
  worth: number | undefined;
  terms: ExplainedTerm[];
};

/** What the scheduler would be told about a pod, node by node, with the reasons. A node without a place is not known. */
export function scheduleDocument(
  pod: SchedulingPod,
  nodes: readonly { name: string; place: Place | undefined }[],
  { limits, weights }: { limits: Limits; weights: ScoreWeights },
): ScheduleDocument {
  const judged = nodes.map(({ name, place }) => {
    const refusals = refusalsOf(pod, place, limits);
    const worth = place && pod.workspace !== undefined ? worthOf(pod, place, limits, weights) : undefined;
    return { name, place, refusals, worth };
  });
  const scores = scoresOf(
    judged.map(({ name, refusals, worth }) => ({ name, worth: refusals.length === 0 ? worth : undefined })),
  );
  return {
    pod: {
      namespace: pod.namespace,
      name: pod.name,
      workspace: pod.workspace ?? 'this pod is no workspace: it may go anywhere',
      images: pod.images,
    },
    limits,
    nodes: judged.map(({ name, place, refusals, worth }, index) => ({
      name,
      passes: refusals.length === 0,
      refusals: refusals.map(({ rule, message, evidence }) => ({
        rule,
        message,
        ...(evidence === undefined ? {} : { evidence }),
      })),
      score: scores[index] ?? 0,
      worth,
      terms: place && worth !== undefined ? explainTerms(pod, place, limits, weights) : [],
    })),
  };
}
