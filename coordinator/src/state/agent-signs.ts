import { kindOf, type Service, singleChecksOf } from '../model/services.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import { type AgentSigns, LEAVING_GRACE_MS } from './presence.ts';

/** What is known of a node when its record begins. */
type Sources = {
  node: ObservedNode;
  agentPods: readonly ObservedPod[];
  services: readonly Service[];
  wasThere: boolean;
};

/**
 * Concludes from a Node and the pods of agents on it what the term before heard: an agent's pod becomes Ready only after a
 * coordinator has accepted a report. A Node that was not there when the term began was not heard. `nowMs` is by the wall
 * clock.
 */
export function agentSignsOf({ node, agentPods, services, wasThere }: Sources, nowMs: number): AgentSigns {
  const pods = agentPods.filter(({ terminating }) => !terminating);
  const hasPod = pods.length > 0;
  if (!wasThere) return { isExpected: hasPod, wasHeard: false, mayHaveLeft: false };
  const isShown = services.some((service) => spokeFor(service) && saysReady(node, service));
  const wasReady = pods.some(({ ready, createdAtMs }) => ready && createdAtMs >= node.createdAtMs);
  const areStarting = pods.every(({ ready, createdAtMs }) => !ready && createdAtMs > nowMs - LEAVING_GRACE_MS);
  // A node that an agent spoke for is expected to be heard, whatever became of the agent: it is silent, as for the term before.
  const isExpected = hasPod || isShown;
  return { isExpected, wasHeard: isShown || wasReady, mayHaveLeft: areStarting && isExpected };
}

/** Whether an agent must have spoken for a service that is ready. */
function spokeFor(service: Service): boolean {
  return singleChecksOf(service).some((check) => kindOf(check)?.voucher === 'agent');
}

/** Whether rollcall itself said on a Node that a service is ready. */
export function saysReady(
  { owned, conditions, conditionOwners }: Pick<ObservedNode, 'owned' | 'conditions' | 'conditionOwners'>,
  service: Service,
): boolean {
  const { label, condition } = service.publish;
  if (label !== undefined && owned.labels.has(label)) return true;
  return (
    condition !== undefined &&
    conditionOwners?.ours.has(condition) === true &&
    conditions?.some(({ type, status }) => type === condition && status === 'True') === true
  );
}
