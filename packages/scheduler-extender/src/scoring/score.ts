import type { ScoreTermName, ScoreWeights } from '@rollcall/coordinator/model/score-weights.ts';
import type { Limits, NodeLoad } from './schedulable-node.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

/** The highest score that an extender may give; the lowest is 0. */
const SCORE_MAX = 10;

/** So many falls of a service within minutes are what it takes to be held back at the next. */
const FALLS_MAX = 3;

type ScoreTerm = {
  name: ScoreTermName;
  /** From 0 to 1: how much speaks for the node. */
  value: (pod: SchedulingPod, place: NodeLoad, limits: Limits) => number;
  /** What the value means, for people. */
  says: (pod: SchedulingPod, place: NodeLoad, limits: Limits) => string;
};

export const SCORE_TERMS: readonly ScoreTerm[] = [
  {
    name: 'density',
    value: (pod, place, { maxWorkspacesPerNode }) => shareOf(pod, place) ?? place.total / maxWorkspacesPerNode,
    says: (pod, place, { maxWorkspacesPerNode }) => {
      const share = shareOf(pod, place);
      if (share === undefined)
        return `${place.total} of at most ${maxWorkspacesPerNode} pods are on the node or on their way to it`;
      return `${Math.round(100 * share)} % of the node's CPU or memory would be requested`;
    },
  },
  {
    name: 'occupied',
    value: (_pod, { total }) => (total > 0 ? 1 : 0),
    says: (_pod, { total }) => (total > 0 ? 'the node is in use' : 'the node is empty, so it can be removed'),
  },
  {
    name: 'spread',
    value: (_pod, { starting }, { maxStartingPerNode }) => 1 - starting / maxStartingPerNode,
    says: (_pod, { starting }, { maxStartingPerNode }) => `${starting} of at most ${maxStartingPerNode} are starting`,
  },
  {
    name: 'fresh',
    value: (_pod, { node }) => (node.fresh ? 1 : 0),
    says: (_pod, { node }) => (node.fresh ? 'the agent reported recently' : 'the agent has not reported recently'),
  },
  {
    name: 'steady',
    value: (_pod, { node }) => 1 - falls(node) / FALLS_MAX,
    says: (_pod, { node }) => `services became not ready ${falls(node)} times in the last minutes`,
  },
];

/** The larger share, of the CPU and the memory that the node can allocate, that will be asked for with the pod on it. */
function shareOf({ asks }: SchedulingPod, { node: { allocatable }, asked }: NodeLoad): number | undefined {
  if (!allocatable) return undefined;
  return Math.max((asked.cpu + asks.cpu) / allocatable.cpu, (asked.memory + asks.memory) / allocatable.memory);
}

function falls({ services }: NodeLoad['node']): number {
  let most = 0;
  for (const service of services) most = Math.max(most, service.falls);
  return most;
}

/** What speaks for a node, from 0 to 1: the mean of all terms by their weights. */
export function worthOf(pod: SchedulingPod, place: NodeLoad, limits: Limits, weights: ScoreWeights): number {
  let sum = 0;
  let total = 0;
  for (const term of SCORE_TERMS) {
    const weight = weights[term.name];
    sum += weight * clamp(term.value(pod, place, limits));
    total += weight;
  }
  return total > 0 ? sum / total : 0;
}

/** One term of a node's score, for people. */
export type ExplainedTerm = { term: ScoreTermName; value: number; weight: number; message: string };

export function explainTerms(
  pod: SchedulingPod,
  place: NodeLoad,
  limits: Limits,
  weights: ScoreWeights,
): ExplainedTerm[] {
  return SCORE_TERMS.map((term) => ({
    term: term.name,
    value: clamp(term.value(pod, place, limits)),
    weight: weights[term.name],
    message: term.says(pod, place, limits),
  }));
}

/** A node with its worth; `undefined` for an unknown node. */
export type Contender = { name: string; worth: number | undefined };

/** The one with the most worth, of several the first by name; `undefined` if no worth is known. */
export function bestOf(contenders: readonly Contender[]): Contender | undefined {
  let best: Contender | undefined;
  for (const one of contenders) if (one.worth !== undefined && (!best || isBetter(one, best))) best = one;
  return best;
}

function isBetter(a: Contender, b: Contender): boolean {
  const [worthA = 0, worthB = 0] = [a.worth, b.worth];
  return worthA > worthB || (worthA === worthB && a.name < b.name);
}

/**
 * Whole numbers from 0 to 10, in the order of the contenders: 10 for the best alone, and for each other its share of the
 * best one's worth, at most 9. With eleven steps, what is only a little better would be rounded away; and if several got
 * 10, kube-scheduler would take one of them at random, and a burst would be strewn over empty nodes.
 */
export function scoresOf(contenders: readonly Contender[]): number[] {
  const best = bestOf(contenders);
  const top = best?.worth ?? 0;
  return contenders.map(({ name, worth }) => {
    if (worth === undefined) return 0;
    if (name === best?.name) return SCORE_MAX;
    return top > 0 ? Math.min(SCORE_MAX - 1, Math.floor((SCORE_MAX * worth) / top)) : 0;
  });
}

function clamp(value: number): number {
  // Also what is not a number, which a limit of 0 would give.
  return value >= 0 ? Math.min(1, value) : 0;
}
