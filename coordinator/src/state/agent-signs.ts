import { kindOf, type Service, type SingleCheck } from '../model/services.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import { type AgentSigns, LEAVING_GRACE_MS } from './presence.ts';
import { startedServices, wasReady } from './started-services.ts';

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

/** Whether an agent must have spoken for a service that is ready: of several checks of which one has to pass, each is its. */
function spokeFor({ checks }: Service): boolean {
  const isOfAgent = (check: SingleCheck) => kindOf(check)?.voucher === 'agent';
  return checks.some((check) => (check.kind === 'anyOf' ? check.checks.every(isOfAgent) : isOfAgent(check)));
}

/**
 * Whether rollcall itself said on a Node that a service is ready. Where a taint alone is published, the Node says it by the
 * note that the service started there, and by having no such taint.
 */
export function saysReady(
  node: Pick<ObservedNode, 'uid' | 'annotations' | 'owned' | 'ownerless' | 'conditions' | 'conditionOwners' | 'taints'>,
  service: Service,
): boolean {
  const { owned, ownerless, conditions, conditionOwners, taints } = node;
  const { label, taint, condition } = service.publish;
  const isFree = taint !== undefined && taints?.every(({ key }) => key !== taint.key) === true;
  // With this gate the label is permanent.
  if (service.origin.kind === 'built-in' && service.origin.gate === 'taint' && !isFree) return false;
  // Where managedFields were reset, the list tells whose it is.
  if (label !== undefined && (owned.labels.has(label) || ownerless?.has(label))) return true;
  if (label === undefined && condition === undefined) return isFree && wasReady(service, startedServices(node));
  return (
    condition !== undefined &&
    conditionOwners?.ours.has(condition) === true &&
    conditions?.some(({ type, status }) => type === condition && status === 'True') === true
  );
}
