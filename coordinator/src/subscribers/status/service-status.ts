import type { ServiceCount } from '../../decide/service-tally.ts';
import type { Publication } from '../../model/services.ts';
import type { Refusal } from '../../state/services/budgets.ts';
import type { ObservedNodeService } from '../../state/services/node-service.ts';
import { type Condition, conditionOf, type StatusVerdict } from './status-controller.ts';

/** The status of a NodeService. */
export type ServiceStatus = {
  observedGeneration: number;
  nodes: { selected: number; ready: number; notReady: number; unknown: number };
  /** Ready nodes of those selected, such as `3/5`. */
  ready: string;
  /** The keys that nodes get, for people. */
  published: string;
  conditions: Condition<'Ready' | 'NodesReady'>[];
};

export type ServiceFacts = {
  object: ObservedNodeService;
  /** It is not in force. */
  refusal: Refusal | undefined;
  /** What it depends on cannot be watched, so that it is in force and nothing is known. */
  problem: string | undefined;
  count: Readonly<ServiceCount>;
  /** What its budget and its pods keep from nodes, for people; `undefined` if nothing. */
  withheld?: string | undefined;
  /** This replica leads since a moment ago, and may not have heard every agent. */
  isTakingOver: boolean;
  /** RFC 3339. */
  now: string;
};

/** What the status should be. */
export function serviceStatus(given: ServiceFacts): ServiceStatus {
  const facts = given.isTakingOver && given.count.unknown > 0 ? { ...given, count: countBefore(given) } : given;
  const { object, refusal, count } = facts;
  const { ready, 'not-ready': notReady, unknown } = refusal ? { ready: 0, 'not-ready': 0, unknown: 0 } : count;
  const selected = ready + notReady + unknown;
  return {
    observedGeneration: object.generation,
    nodes: { selected, ready, notReady, unknown },
    ready: `${ready}/${selected}`,
    published: keysOf(object.service.publish),
    conditions: [conditionOf('Ready', inForce(facts), facts), conditionOf('NodesReady', nodesReady(facts), facts)],
  };
}

/** What a predecessor counted of the object as it is now: a take-over alone is no news. */
function countBefore({ object: { status, generation }, count }: ServiceFacts): Readonly<ServiceCount> {
  const { observedGeneration, nodes } = (status ?? {}) as Partial<ServiceStatus>;
  const { ready, notReady, unknown } = nodes ?? {};
  const isCounted = typeof ready === 'number' && typeof notReady === 'number' && typeof unknown === 'number';
  return isCounted && observedGeneration === generation ? { ready, 'not-ready': notReady, unknown } : count;
}

function keysOf({ label, taint, condition }: Publication): string {
  return [
    ...(label === undefined ? [] : [`label ${label}`]),
    ...(taint ? [`taint ${taint.key}:${taint.effect}`] : []),
    ...(condition === undefined ? [] : [`condition ${condition}`]),
  ].join(', ');
}

/** Whether the service is in force: deployment tools wait for it. */
function inForce({ refusal, problem }: ServiceFacts): StatusVerdict {
  if (refusal) return { status: 'False', ...refusal };
  if (problem !== undefined) return { status: 'False', reason: 'NotPermitted', message: problem };
  return { status: 'True', reason: 'InForce', message: 'Its keys are published' };
}

function nodesReady({ refusal, withheld, count }: ServiceFacts): StatusVerdict {
  const { ready, 'not-ready': notReady, unknown } = count;
  if (refusal) return { status: 'Unknown', reason: 'NotInForce', message: 'It is not in force, so no node is checked' };
  const all = ready + notReady + unknown;
  const message = [`Ready on ${ready} of ${all} nodes`, ...(withheld === undefined ? [] : [withheld])].join('; ');
  if (all === 0) return { status: 'Unknown', reason: 'NoNodes', message: 'The nodeSelector selects no node' };
  if (notReady > 0) return { status: 'False', reason: 'NodesNotReady', message };
  return unknown > 0
    ? { status: 'Unknown', reason: 'NodesUnknown', message }
    : { status: 'True', reason: 'AllNodesReady', message };
}
