import type { World } from './world.ts';

/** What each replica watches. */
const WATCHES_MAX = 12;

/** Names what has grown beyond its limit, if anything. Limits depend on the number of objects, never on time. */
export function growthOf(world: World): string | undefined {
  const { nodes, services, coordinators, clock, server, network } = world;
  const agents = [...nodes.values()].reduce((sum, node) => sum + node.agents.length, 0);
  const limits: [what: string, is: number, max: number][] = [
    ['timers', clock.pendingTimers, 300 + 40 * (nodes.size + agents) * (1 + services.size)],
    ['watches at the API server', server.watchers, 2 * WATCHES_MAX],
    ['reports under way', network.underWay, 50 + 10 * agents],
  ];
  for (const node of nodes.values()) {
    limits.push([`connections on ${node.name}`, node.sockets.size, (2 + 2 * node.agents.length) * (1 + services.size)]);
  }
  for (const { name, replica, machine } of coordinators) {
    if (!replica || machine.isDead || machine.isPaused) continue;
    const known = replica.fleet.nodeNames().length;
    limits.push([`nodes that ${name} expects to report`, replica.fleet.freshness.population.expected, known]);
    limits.push([`writes that wait at ${name}`, replica.writer.waiting, known]);
  }
  const broken = limits.find(([, is, max]) => is > max);
  return broken && `${broken[0]} are ${broken[1]}, and may be ${broken[2]}`;
}
