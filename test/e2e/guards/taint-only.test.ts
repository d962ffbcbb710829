import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { ownNamespace } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

const CLOCK_SPEED = 6;
const STALE_AFTER_SECONDS = 12;
const LONG_MS = (1000 * (120 + 2 * STALE_AFTER_SECONDS)) / CLOCK_SPEED;
const KEY = 'service.rollcall.dev/mirror';
const STARTED = 'rollcall.dev/services-started';

let embedded: EmbeddedRig;
const mirror = createServer((socket) => socket.on('error', () => {}).end());

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    nodes: 0,
    coordinatorArgs: [`--stale-after-seconds=${STALE_AFTER_SECONDS}`, '--gitpod=false'],
    clockSpeed: CLOCK_SPEED,
  });
  const { rig, controlPlane } = embedded;
  for (let at = 0; at < 5; at += 1) await rig.addNode({});
  const port = await freePort();
  await new Promise<void>((resolve) => mirror.listen(port, '0.0.0.0', resolve));
  const publish = { taint: { key: KEY, effect: 'NoSchedule', maxUnavailable: '100%' } };
  await controlPlane.api.post(
    NODE_SERVICES,
    nodeService('mirror', { checks: [{ name: 'port', tcp: { port } }], publish }),
  );
  const isStarted = async (name: string) => {
    const { metadata } = await controlPlane.api.get<NodeObject>(`/api/v1/nodes/${name}`);
    return metadata.annotations?.[STARTED]?.includes('mirror') === true;
  };
  for (const { name } of rig.nodes) await waitFor(`${name} to be ready`, () => isStarted(name), { timeoutMs: 30_000 });
}, 120_000);
afterAll(async () => {
  await embedded?.stop();
  mirror.close();
});

async function tainted(): Promise<string[]> {
  const nodes = await embedded.controlPlane.api.list<NodeObject>('/api/v1/nodes');
  return nodes.filter(({ spec }) => spec.taints?.some(({ key }) => key === KEY)).map(({ metadata }) => metadata.name);
}

test('where all agents are gone, the next leader taints as few nodes as the one before', async () => {
  const { rig, controlPlane } = embedded;
  await waitFor('no taint', async () => (await tainted()).length === 0, { timeoutMs: 20_000 });
  await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGKILL')));
  for (const { agentPod } of rig.nodes)
    await controlPlane.api.delete(`/api/v1/namespaces/${ownNamespace}/pods/${agentPod?.name}`, {
      gracePeriodSeconds: 0,
    });
  await new Promise((resolve) => setTimeout(resolve, LONG_MS));
  const before = await tainted();
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.addCoordinator();
  await rig.leader();
  await new Promise((resolve) => setTimeout(resolve, LONG_MS));
  expect({ before, after: await tainted() }).toEqual({ before: [], after: [] });
}, 180_000);
