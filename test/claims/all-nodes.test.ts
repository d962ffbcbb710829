import { setTimeout as sleep } from 'node:timers/promises';
import { observeNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGrowthFleet, type GrowthFleet } from '../scale/growth-fleet.ts';

const NODES = 2000;
const SERVICES = 20;
const HOLD_MS_MAX = 200;
const SOON_MS = 300;

let fleet: GrowthFleet;

function nodeService(index: number, generation: number) {
  const metadata = {
    uid: `uid-${index}`,
    name: `service-${index}`,
    generation,
    resourceVersion: `${generation}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const spec = { checks: [{ name: 'port', http: { port: 9000 + generation, path: '/healthz' } }] };
  return observeNodeService({ metadata, spec } as Parameters<typeof observeNodeService>[0]);
}

beforeAll(async () => {
  fleet = await createGrowthFleet(NODES, NODES);
  for (const name of fleet.names) fleet.report(name, true);
  for (let index = 0; index < SERVICES; index += 1) fleet.serviceEvent(nodeService(index, 1));
  await fleet.settled();
  await fleet.idle();
}, 60_000);
afterAll(() => fleet?.stop());

/** The most CPU time that passed between two turns of the loop, in milliseconds, until all is done. */
async function longestHoldMs(change: () => void): Promise<number> {
  let isEnding = false;
  let longest = 0;
  const watching = (async () => {
    while (!isEnding) {
      const before = process.threadCpuUsage();
      await new Promise((resolve) => setImmediate(resolve));
      const { user, system } = process.threadCpuUsage(before);
      longest = Math.max(longest, (user + system) / 1000);
    }
  })();
  await new Promise((resolve) => setImmediate(resolve));
  change();
  // A NodeService is judged a moment later.
  await sleep(SOON_MS);
  await fleet.settled();
  isEnding = true;
  await watching;
  await fleet.idle();
  return longest;
}

/** What they return is measured. */
const CHANGES: Record<string, () => () => void> = {
  'the edit of a NodeService': () => () => fleet.serviceEvent(nodeService(0, 2)),
  'the labels of a pool': () => () => fleet.poolEvent('pool-0', { 'example.com/tier': 'gold' }),
  'a list of all Nodes': () => fleet.nodesListed('x'),
  'a list of all pods': () => fleet.podsListed(false),
  'a new term': () => () => fleet.beginTerm(),
};

test.each(Object.keys(CHANGES))(
  `%s, which changes ${NODES} nodes at once, leaves the loop to others`,
  {
    timeout: 60_000,
  },
  async (name) => {
    const writesBefore = fleet.writes;
    expect(await longestHoldMs(CHANGES[name]?.() ?? expect.unreachable)).toBeLessThan(HOLD_MS_MAX);
    if (name === 'the labels of a pool') expect(fleet.writes - writesBefore).toBe(NODES);
  },
);
