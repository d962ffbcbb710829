import type { ProbeTarget } from '@rollcall/common/report.ts';
import type { Service } from '../services.ts';
import type { ObservedPod } from './observed-pod.ts';

/**
 * Where the agent of a node should probe each service. Of several pods the one that is not on its way out counts, and
 * one that is ready before one that is not yet. A service without a pod that has an address is left out.
 */
export function probeTargets(services: readonly Service[], pods: readonly ObservedPod[]): Record<string, ProbeTarget> {
  const targets: Record<string, ProbeTarget> = {};
  for (const { name, component, address, port } of services) {
    const hostOf = (pod: ObservedPod) => (address === 'pod' ? pod.podIP : pod.hostIP);
    const best = pods
      .filter((pod) => pod.component === component && hostOf(pod) !== '')
      .sort((a, b) => rank(b) - rank(a) || (a.uid < b.uid ? -1 : 1))[0];
    if (best) targets[name] = { host: hostOf(best), port };
  }
  return targets;
}

function rank({ ready, terminating }: ObservedPod): number {
  return (terminating ? 0 : 2) + (ready ? 1 : 0);
}
