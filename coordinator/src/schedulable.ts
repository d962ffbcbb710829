import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { ObservedNode } from './fleet/observed-node.ts';
import type { JudgedNode } from './labelers/labeler.ts';
import type { ReadinessGate } from './labelers/readiness.ts';
import type { NodeWorkspaces, RequiredService, SchedulableNode } from './scheduler/schedulable-node.ts';
import type { Service } from './services.ts';
import { shownReady } from './shown-ready.ts';

/** The services without which a workspace cannot run; others that are configured are nothing to it. */
const REQUIRED: ReadonlySet<string> = new Set([WS_DAEMON, REGISTRY_FACADE]);

/** A node as the scheduler extender sees it. */
export function schedulableNode(
  node: ObservedNode,
  judged: JudgedNode,
  workspaces: NodeWorkspaces | undefined,
  { services, gate }: { services: readonly Service[]; gate: ReadinessGate },
): SchedulableNode {
  return {
    name: node.name,
    labels: node.labels,
    deleting: node.deleting === true,
    taints: node.taints,
    services: services.filter(({ name }) => REQUIRED.has(name)).map((service) => required(service, node, judged, gate)),
    fresh: judged.freshness.state === 'fresh' || judged.freshness.state === 'leaving',
    workspaces,
    // They are in the status of Nodes, which is not kept.
    images: undefined,
  };
}

function required(service: Service, node: ObservedNode, judged: JudgedNode, gate: ReadinessGate): RequiredService {
  const verdict = judged.readiness.get(service.name);
  return {
    name: service.name,
    state: verdict?.state ?? 'unknown',
    shown: shownReady(node, service, gate),
    reason: verdict?.reason ?? 'nothing is known of it yet',
    falls: verdict?.damping?.falls ?? 0,
  };
}
