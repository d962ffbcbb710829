import type { EvaluatedNode } from '../decide/labelers/labeler.ts';
import { shownReady } from '../decide/shown-ready.ts';
import type { Service } from '../model/services.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import { allocatableResources } from '../state/resources.ts';
import type { NodeWorkspaces, RequiredService, SchedulableNode } from './scoring/schedulable-node.ts';

type Known = {
  /** That are in force. */
  services: readonly Service[];
  /** Names of those that have to be ready; defaults to the built-in ones. */
  required: readonly string[] | undefined;
};

/** A node as the scheduler extender sees it. */
export function schedulableNode(
  node: ObservedNode,
  evaluated: EvaluatedNode,
  workspaces: NodeWorkspaces | undefined,
  { services, required }: Known,
): SchedulableNode {
  const builtIn = services.filter(({ origin }) => origin.kind === 'built-in').map(({ name }) => name);
  return {
    name: node.name,
    labels: node.labels,
    deleting: node.deleting === true,
    taints: node.taints,
    services: (required ?? builtIn).map((name) => {
      const service = services.find((each) => each.name === name);
      return service ? stateOf(service, node, evaluated) : missing(name, 'no NodeService of this name is accepted');
    }),
    fresh: evaluated.freshness.state === 'fresh' || evaluated.freshness.state === 'leaving',
    workspaces,
    allocatable: allocatableResources(node.allocatable),
  };
}

function stateOf(service: Service, node: ObservedNode, evaluated: EvaluatedNode): RequiredService {
  const verdict = evaluated.readiness.get(service.name);
  if (!verdict) return missing(service.name, 'it does not apply to this node');
  const { state, reason, damping } = verdict;
  return { name: service.name, state, shown: shownReady(node, service), reason, falls: damping?.falls ?? 0 };
}

function missing(name: string, reason: string): RequiredService {
  return { name, state: 'not-ready', shown: false, reason, falls: 0 };
}
