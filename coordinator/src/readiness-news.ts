import type { ObservedNode } from './fleet/observed-node.ts';
import type { ReadinessGate } from './labelers/readiness.ts';
import type { NodeReadiness } from './readiness/tracker.ts';
import type { Service } from './services.ts';

/** That a Node shows something else of a service than before. */
export type ReadinessNews = { service: Service; ready: boolean; reason: string };

/** What a write to a Node changed for those who look at it for the readiness of services. */
export function readinessNews(
  before: ObservedNode,
  after: ObservedNode,
  options: { services: readonly Service[]; gate: ReadinessGate; readiness: NodeReadiness },
): ReadinessNews[] {
  const { services, gate, readiness } = options;
  return services.flatMap((service) => {
    const ready = shownReady(after, service, gate);
    if (ready === shownReady(before, service, gate)) return [];
    return [{ service, ready, reason: readiness.get(service.name)?.reason ?? '' }];
  });
}

/** Whether a pod that needs the service could be scheduled there. */
function shownReady(node: ObservedNode, { label, taint }: Service, gate: ReadinessGate): boolean {
  const labeled = node.labels[label] === 'true';
  return gate === 'label'
    ? labeled
    : labeled && !node.taints?.some(({ key, effect }) => key === taint && effect !== 'PreferNoSchedule');
}
