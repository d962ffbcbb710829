// Whose silence counts, and against whom: a node alone in its pool, agents that leave while a check is edited, and agents
// that are gone together, under the leader that heard them and under the next.

import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../control-plane/ports.ts';
import { ownNamespace } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

const CLOCK_SPEED = 4;
const STALE_AFTER_SECONDS = 12;
/** How long a goodbye, and the window after it, are for the machine. */
const LONG_MS = (1000 * (120 + 2 * STALE_AFTER_SECONDS)) / CLOCK_SPEED;
const POOL = 'nodepool.banzaicloud.io/name';
const MIRROR = 'service.rollcall.dev/mirror';

let embedded: EmbeddedRig;
let port: number;
/** Takes connections at the addresses of all nodes. */
const mirror = createServer((socket) => socket.on('error', () => {}).end());

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    nodes: 0,
    coordinatorArgs: [`--stale-after-seconds=${STALE_AFTER_SECONDS}`],
    clockSpeed: CLOCK_SPEED,
  });
  const { rig, controlPlane } = embedded;
  for (const pool of ['gold', 'gold', 'gold', 'gold', 'lone']) await rig.addNode({ labels: { [POOL]: pool } });
  port = await freePort();
  await new Promise<void>((resolve) => mirror.listen(port, '0.0.0.0', resolve));
  await controlPlane.api.post(NODE_SERVICES, nodeService('mirror', { checks: checksOf('1s') }));
  await rig.allReady(60_000);
  for (const { name } of rig.nodes) await rig.history.until(name, MIRROR, 'true', 30_000);
});

afterAll(async () => {
  await embedded?.stop();
  mirror.close();
});

function checksOf(timeout: string) {
  return [{ name: 'port', tcp: { port }, timeout }];
}

function removals(fromMs: number): string[] {
  return embedded.rig.history.changes
    .filter(({ atMs, key, to }) => atMs >= fromMs && to === undefined && [MIRROR, WS_DAEMON_READY].includes(key))
    .map(({ node, key }) => `${node} ${key}`);
}

const isGuarded = async () =>
  (await (await embedded.rig.leader()).metric('rollcall_coordinator_guarded_nodes', { subject: 'agents' })) > 0;

test('a node that is alone in its pool is judged with the fleet: its silence costs it its label after the window', async () => {
  const { rig } = embedded;
  const lone = rig.node(4);
  const fromMs = performance.now();
  await lone.agent?.kill('SIGSTOP');
  for (const label of [MIRROR, WS_DAEMON_READY]) await rig.history.until(lone.name, label, undefined, 20_000);
  expect(removals(fromMs).every((line) => line.startsWith(lone.name))).toBe(true);
  await lone.agent?.kill('SIGCONT');
  for (const label of [MIRROR, WS_DAEMON_READY]) await rig.history.until(lone.name, label, 'true', 20_000);
});

test('agents that leave while a check is edited have the time of a goodbye, and then the guard holds', async () => {
  const { rig, controlPlane } = embedded;
  const fromMs = performance.now();
  const spec = { checks: checksOf('900ms') };
  await controlPlane.api.patch(`${NODE_SERVICES}/mirror`, { spec }, 'application/merge-patch+json');
  await new Promise((resolve) => setTimeout(resolve, 150));
  await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGTERM')));
  for (const { agentPod } of rig.nodes)
    await controlPlane.api.delete(`/api/v1/namespaces/${ownNamespace}/pods/${agentPod?.name}`, {
      gracePeriodSeconds: 0,
    });
  await waitFor('the guard', isGuarded, { timeoutMs: LONG_MS + 20_000 });
  await new Promise((resolve) => setTimeout(resolve, fromMs + LONG_MS - performance.now()));
  expect(removals(fromMs)).toEqual([]);
});

test('where all agents are gone, the next leader keeps the labels as the one before', async () => {
  const { rig } = embedded;
  const fromMs = performance.now();
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.addCoordinator();
  await rig.leader();
  await waitFor('the guard', isGuarded, { timeoutMs: LONG_MS + 20_000 });
  await new Promise((resolve) => setTimeout(resolve, fromMs + LONG_MS - performance.now()));
  expect(removals(fromMs)).toEqual([]);
  for (const { name } of rig.nodes) expect(rig.history.labels(name)).toMatchObject({ [MIRROR]: 'true' });
});
