import type { Service } from '../model/services.ts';
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
  const isExpected = pods.length > 0;
  if (!wasThere) return { isExpected, wasHeard: false, mayHaveLeft: false };
  const isShown = services.some((service) => saysReady(node, service));
  const wasReady = pods.some(({ ready, createdAtMs }) => ready && createdAtMs >= node.createdAtMs);
  const areStarting = pods.every(({ ready, createdAtMs }) => !ready && createdAtMs > nowMs - LEAVING_GRACE_MS);
  return { isExpected, wasHeard: isShown || wasReady, mayHaveLeft: areStarting && (isExpected || isShown) };
}

/** Whether rollcall itself said on a Node that a service is ready, for which an agent must have spoken. */
export function saysReady(
  { owned, conditions, conditionOwners }: ObservedNode,
  { probe, devices, publish: { label, condition } }: Service,
): boolean {
  if (!probe && !devices) return false;
  if (label !== undefined && owned.labels.has(label)) return true;
  return (
    condition !== undefined &&
    conditionOwners?.ours.has(condition) === true &&
    conditions?.some(({ type, status }) => type === condition && status === 'True') === true
  );
}

/** What one core takes with ease, TLS included, while it has other things to do. */
const REPORTS_PER_SECOND_MAX = 5000;

const HEARTBEAT_SECONDS = 10;

/**
 * Seconds between two reports of a node. It grows with the fleet, so that the load stays level, and stays well below
 * half of the window after which a node counts as silent: one report may be lost.
 */
export function heartbeatSeconds(nodes: number, windowSeconds: number): number {
  const unhurried = Math.min(HEARTBEAT_SECONDS, windowSeconds / 3);
  const stretched = nodes / REPORTS_PER_SECOND_MAX;
  return Math.min(windowSeconds * 0.45, Math.max(unhurried, stretched));
}
