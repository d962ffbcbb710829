import { observedHold } from './node-holds.ts';
import { observed } from './node-services.ts';
import { podOf } from './sights.ts';
import type { Watched } from './system.ts';
import type { World } from './world.ts';

/** What a coordinator that starts now lists. `components`: of the pods that services select. */
export function watchedIn(world: World, components: readonly string[]): Watched {
  const truths = [...world.truths.values()];
  return {
    nodes: world.nodes.all(),
    componentPods: truths.flatMap((truth) =>
      components.flatMap((service) => {
        const pod = truth.pods[service];
        return pod ? [podOf(`${service}-${pod.uid}`, pod.uid, { node: truth.name, component: service, ...pod })] : [];
      }),
    ),
    agentPods: truths.flatMap(({ agents }) => agents.map(({ pod }) => pod)),
    poolLabelSets: [...world.sets.values()],
    workspaces: [...world.workspaces.values()],
    nodeServices: world.serviceWrites.areLost ? undefined : [...world.services.values()].map(observed),
    csiNodes: [...world.csiNodes.values()],
    onDemand: [...world.onDemand.values(), ...world.daemonSets.listed()],
    nodeHolds: [...world.holds.values()].map(observedHold),
  };
}
