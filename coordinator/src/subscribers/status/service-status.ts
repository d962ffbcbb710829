import type { ServiceCount } from '../../decide/service-tally.ts';
import type { Refusal } from '../../state/services/acceptance.ts';
import type { ObservedNodeService } from '../../state/services/node-service.ts';
import { type Condition, conditionOf, type StatusVerdict } from './status-controller.ts';

/** The status of a NodeService. */
export type ServiceStatus = {
  observedGeneration: number;
  nodesSelected: number;
  nodesReady: number;
  nodesNotReady: number;
  nodesUnknown: number;
  provenTaint?: string;
  conditions: Condition<'Accepted' | 'Ready'>[];
};

export type ServiceFacts = {
  object: ObservedNodeService;
  /** It is not in force. */
  refusal: Refusal | undefined;
  /** What it depends on cannot be watched, so that it is in force and nothing is known. */
  problem: string | undefined;
  count: Readonly<ServiceCount>;
  /** This replica leads since a moment ago, and may not have heard every agent. */
  isTakingOver: boolean;
  provenTaint: string | undefined;
  /** RFC 3339. */
  now: string;
};

/** What the status should be. */
export function serviceStatus(given: ServiceFacts): ServiceStatus {
  const facts = given.isTakingOver && given.count.unknown > 0 ? { ...given, count: countBefore(given) } : given;
  const { object, refusal, count, provenTaint } = facts;
  const { ready, 'not-ready': notReady, unknown } = refusal ? { ready: 0, 'not-ready': 0, unknown: 0 } : count;
  return {
    observedGeneration: object.generation,
    nodesSelected: ready + notReady + unknown,
    nodesReady: ready,
    nodesNotReady: notReady,
    nodesUnknown: unknown,
    ...(provenTaint === undefined ? {} : { provenTaint }),
    conditions: [conditionOf('Accepted', accepted(facts), facts), conditionOf('Ready', readiness(facts), facts)],
  };
}

/** What a predecessor counted of the object as it is now: a take-over alone is no news. */
function countBefore({ object: { status, generation }, count }: ServiceFacts): Readonly<ServiceCount> {
  const { observedGeneration, nodesReady, nodesNotReady, nodesUnknown } = (status ?? {}) as Partial<ServiceStatus>;
  const isCounted = [nodesReady, nodesNotReady, nodesUnknown].every((each) => typeof each === 'number');
  if (!isCounted || observedGeneration !== generation) return count;
  return { ready: nodesReady ?? 0, 'not-ready': nodesNotReady ?? 0, unknown: nodesUnknown ?? 0 };
}

/** The taint that the status says was seen to go. */
export function provenTaintIn(status: unknown): unknown {
  return (status as { provenTaint?: unknown } | null | undefined)?.provenTaint;
}

function accepted({ refusal, problem }: ServiceFacts): StatusVerdict {
  if (refusal) return { status: 'False', ...refusal };
  if (problem !== undefined) return { status: 'False', reason: 'NotPermitted', message: problem };
  return { status: 'True', reason: 'Accepted', message: 'Its keys are published' };
}

function readiness({ refusal, count: { ready, 'not-ready': notReady, unknown } }: ServiceFacts): StatusVerdict {
  if (refusal)
    return { status: 'Unknown', reason: 'NotAccepted', message: 'It is not accepted, so no node is checked' };
  const all = ready + notReady + unknown;
  const message = `Ready on ${ready} of ${all} nodes`;
  if (all === 0) return { status: 'True', reason: 'NoNodes', message: 'The nodeSelector selects no node' };
  if (notReady > 0) return { status: 'False', reason: 'NotReady', message };
  return unknown > 0 ? { status: 'Unknown', reason: 'Unknown', message } : { status: 'True', reason: 'Ready', message };
}
