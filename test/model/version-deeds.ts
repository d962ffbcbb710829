import type { Deed, Target } from './deeds.ts';
import { NODE_SERVICE_NAMES, PORTS } from './node-services.ts';
import { SERVICE_NAMES } from './truth.ts';
import { VERSIONS } from './versions.ts';
import type { World } from './world.ts';

const PACES_MS = [0, 0, 300, 4000, 30_000];

/** What happens to a fleet whose agents are replaced by other versions. */
export const VERSION_DEEDS: Readonly<Record<string, Deed>> = {
  'the agents are rolled out': deed(({ world, pick }) => rollOut(world, pick(Object.keys(VERSIONS)), pick(PACES_MS))),
  'a version is rolled out and back': deed(({ world, pick, random }) => {
    const [before = '1', paceMs] = [world.agentVersion, pick(PACES_MS)];
    rollOut(world, pick(Object.keys(VERSIONS)), paceMs);
    world.later(random() * 60_000, () => rollOut(world, before, paceMs));
  }),
  'an agent is replaced by another version': deed(({ world, truth, pick }) =>
    replaceAgents(world, truth.name, pick(Object.keys(VERSIONS))),
  ),
  'a service fails or recovers on every node': deed(({ world, service, pick, random }) => {
    const [isUp, paceMs] = [random() < 0.4, pick(PACES_MS)];
    onEachNode(world, paceMs, (name) => {
      const truth = world.truths.get(name);
      if (truth) truth.up[service] = isUp;
    });
  }),
  'a port fails or recovers on every node': deed(({ world, random }) => {
    const isUp = random() < 0.4;
    for (const truth of world.truths.values()) truth.ports[PORTS[0]] = isUp;
  }),
  'the pods of a service change on some nodes': deed(({ world, pick, random }) => {
    const component = pick([...SERVICE_NAMES, ...NODE_SERVICE_NAMES]);
    for (const truth of world.truths.values()) {
      if (random() < 0.6) world.setPod(truth, component, { ready: random() < 0.7, terminating: random() < 0.2 });
      world.happened();
    }
  }),
};

/** The agents of one node after the other are replaced. */
function rollOut(world: World, version: string, paceMs: number): void {
  world.agentVersion = version;
  onEachNode(world, paceMs, (name) => replaceAgents(world, name, version));
}

function onEachNode(world: World, paceMs: number, act: (name: string) => void): void {
  for (const [index, name] of [...world.truths.keys()].entries()) world.later(index * paceMs, () => act(name));
}

function replaceAgents(world: World, name: string, version: string): void {
  const truth = world.truths.get(name);
  if (!truth) return;
  for (const agent of [...truth.agents]) world.endAgentPod(truth, agent);
  world.startAgent(truth, version);
}

function deed(act: (target: Target) => void): Deed {
  return { theme: 'versions', act };
}
