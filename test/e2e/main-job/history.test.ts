import { afterAll, beforeAll, expect, test } from 'vitest';
import { setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import type { StandInKind } from '../../stand-ins/stand-in.ts';

const SERVICES: readonly StandInKind[] = ['ws-daemon', 'registry-facade'];
const FOREIGN = 'example.com/team';
const STEPS = 60;

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 4, coordinators: 2 });
  rig = embedded.rig;
  await rig.allReady();
  await embedded.controlPlane.kubectl(['label', 'nodes', '--all', `${FOREIGN}=rnd`]);
});
afterAll(() => embedded?.stop());

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The whole truth in a line: a label is there exactly while the service answers and its pod is Ready. */
const unreadyPods = new Set<string>();
const expected = (node: SimulatedNode, service: StandInKind) =>
  node.runs(service) && !unreadyPods.has(`${service}-${node.name}`) ? 'true' : undefined;

type Deed = (node: SimulatedNode, service: StandInKind) => Promise<unknown>;

async function setLabel(node: SimulatedNode, service: StandInKind, value: string | null): Promise<void> {
  const labels = { [rig.readyLabel(service)]: value };
  await embedded.controlPlane.api.patch(`/api/v1/nodes/${node.name}`, { metadata: { labels } });
}

async function setPod(node: SimulatedNode, service: StandInKind, ready: boolean): Promise<void> {
  const name = `${service}-${node.name}`;
  await setPodReady(embedded.controlPlane.api, 'default', name, ready);
  if (ready) unreadyPods.delete(name);
  else unreadyPods.add(name);
}

const DEEDS: Readonly<Record<string, Deed>> = {
  'kill the service': async (node, service) => node.runs(service) && node.kill(service),
  'start the service': (node, service) => node.revive(service),
  'make the pod not ready': (node, service) => setPod(node, service, false),
  'make the pod ready': (node, service) => setPod(node, service, true),
  'set the label by hand': (node, service) => setLabel(node, service, 'true'),
  'set the label to something else': (node, service) => setLabel(node, service, 'false'),
  'delete the label by hand': (node, service) => setLabel(node, service, null),
  'restart the agent': async (node) => {
    await node.agent?.kill('SIGTERM');
    node.startAgent();
  },
  'kill the agent': async (node) => {
    await node.agent?.kill('SIGKILL');
    node.startAgent();
  },
};

/** Happen once each, in between: they take their time. */
const UPHEAVALS: Readonly<Record<string, () => Promise<unknown>>> = {
  'stop the leader': async () => {
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    await rig.addCoordinator();
  },
  'kill the API server': async () => {
    await embedded.controlPlane.killApiServer();
    await embedded.controlPlane.restartApiServer();
  },
  'kill a coordinator': async () => {
    const [first] = rig.coordinators;
    if (first) await rig.endCoordinator(first, 'SIGKILL');
    await rig.addCoordinator();
  },
};

test('after any history the labels say the truth, and nothing else was touched', { timeout: 180_000 }, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const history: string[] = [`seed ${seed}`];
  const upheavals = new Map(Object.keys(UPHEAVALS).map((name, index) => [15 * (index + 1), name]));
  for (let step = 0; step < STEPS; step += 1) {
    const upheaval = upheavals.get(step);
    if (upheaval) {
      history.push(upheaval);
      await UPHEAVALS[upheaval]?.();
    }
    const [name, node, service] = [pick(Object.keys(DEEDS)), pick(rig.nodes), pick(SERVICES)];
    history.push(`${name}: ${node.name} ${service}`);
    await DEEDS[name]?.(node, service);
  }
  const wrong = () =>
    rig.nodes.flatMap((node) =>
      SERVICES.filter(
        (service) => rig.history.labels(node.name)[rig.readyLabel(service)] !== expected(node, service),
      ).map((service) => `${node.name} ${service}`),
    );
  try {
    await waitFor('every label to be as it should', () => wrong().length === 0, { timeoutMs: 60_000 });
  } catch (cause) {
    throw new Error(`Wrong: ${wrong().join(', ')}, after\n${history.join('\n')}`, { cause });
  }
  expect(rig.history.changes.filter(({ key, from }) => key === FOREIGN && from !== undefined)).toEqual([]);
});
