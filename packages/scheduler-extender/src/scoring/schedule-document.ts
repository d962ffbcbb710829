import type { ScoreWeights } from '@rollcall/coordinator/model/score-weights.ts';
import { type Refusal, refusalsOf } from './rules.ts';
import type { Limits, NodeLoad } from './schedulable-node.ts';
import type { SchedulingPod } from './scheduling-pod.ts';
import { type ExplainedTerm, explainTerms, scoresOf, worthOf } from './score.ts';

export type ScheduleDocument = {
  pod: { namespace: string; name: string; workspace: string };
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

/**
 * What the scheduler would be told about a pod, node by node, with the reasons. A node without a place is not known. Yields
 * where it can be interrupted: it takes a while for many nodes.
 */
export function* scheduleDocument(
  pod: SchedulingPod,
  nodes: Iterable<{ name: string; place: NodeLoad | undefined }>,
  { limits, weights }: { limits: Limits; weights: ScoreWeights },
): Generator<undefined, ScheduleDocument> {
  const evaluated: { name: string; place: NodeLoad | undefined; refusals: Refusal[]; worth: number | undefined }[] = [];
  for (const { name, place } of nodes) {
    const refusals = refusalsOf(pod, place, limits);
    const worth = place && pod.workspace !== undefined ? worthOf(pod, place, limits, weights) : undefined;
    evaluated.push({ name, place, refusals, worth });
    yield;
  }
  const scores = scoresOf(
    evaluated.map(({ name, refusals, worth }) => ({ name, worth: refusals.length === 0 ? worth : undefined })),
  );
  const documents: NodeScheduleDocument[] = [];
  for (const [index, { name, place, refusals, worth }] of evaluated.entries()) {
    documents.push({
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
    });
    yield;
  }
  return {
    pod: {
      namespace: pod.namespace,
      name: pod.name,
      workspace: pod.workspace ?? 'it is not a workspace',
    },
    limits,
    nodes: documents,
  };
}
