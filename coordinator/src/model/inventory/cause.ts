/**
 * Why a verdict on a service, or a claim about a key, is as it is.
 *
 * - `evidence`: what the API server shows of the node: pods, CSINodes, allocatable resources.
 * - `agent`: what the agent of the node sees.
 * - `silence`: no agent has reported for too long.
 * - `damping`: the service comes and goes, and is kept not ready for a while.
 * - `configuration`: objects, flags or rule files ask for it, or no longer ask for it.
 * - `unknown`: it cannot be told now, so that things stay as they are.
 */
export type Cause = 'evidence' | 'agent' | 'silence' | 'damping' | 'configuration' | 'unknown';

/** Whether the service was seen to fail. Only then pods are evicted: by a taint, or because a label is gone. */
export function isSeen(cause: Cause): boolean {
  return cause === 'evidence' || cause === 'agent';
}
