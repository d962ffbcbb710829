import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readyLabel } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPod } from '../../control-plane/cluster.ts';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { fenceForServices } from '../../rig/fence.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';

const CACHE_READY = 'example.com/cache-ready';
const CACHE_FAILURES = 3;
/** Known to the coordinator alone, and to the agent alone. */
const GHOST_READY = readyLabel('ghost', 'default');
const PRIVATE_READY = readyLabel('private', 'default');

let dir: string;
let embedded: EmbeddedRig;
let node: SimulatedNode;
let port: number;
let cache: StandIn;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rollcall-further-'));
  port = await freePort();
  const agentFile = await configure('AgentConfiguration', [
    // So far between that what happens within a second is no round's doing.
    { name: 'cache', port, probe: 'http', path: '/healthz', periodMs: 2000, failureThreshold: CACHE_FAILURES },
    { name: 'private', port },
    { name: 'registry-facade', periodMs: 3000 },
  ]);
  const services = [
    { name: 'cache', component: 'image-cache', port, label: CACHE_READY },
    { name: 'ghost', port },
  ];
  const coordinatorFile = await configure('CoordinatorConfiguration', services);
  embedded = await startEmbeddedRig({
    fence: fenceForServices({ services }),
    nodes: 1,
    agentArgs: [`--config=${agentFile}`, '--failure-threshold=1'],
    coordinatorArgs: [`--config=${coordinatorFile}`],
  });
  node = embedded.rig.node(0);
  cache = await startStandIn('http-service', { host: node.address, port });
  for (const component of ['image-cache', 'ghost']) {
    await createPod(embedded.controlPlane.api, {
      namespace: 'default',
      name: `${component}-${node.name}`,
      nodeName: node.name,
      labels: { component },
      ready: true,
      podIP: node.address,
      hostIP: node.address,
    });
  }
  await embedded.rig.allReady();
});

afterAll(async () => {
  await cache?.stop();
  await embedded?.stop();
  await rm(dir, { recursive: true, force: true });
});

async function configure(kind: string, services: object[]): Promise<string> {
  const file = join(dir, kind);
  await writeFile(file, JSON.stringify({ apiVersion: 'rollcall.dev/v1alpha1', kind, services }));
  return file;
}

async function softFindings(service: string): Promise<number> {
  const { body } = await httpGet(`${node.healthUrl}/metrics`);
  return sumSamples(body, 'rollcall_agent_probes_total', { service, verdict: 'soft' });
}

test('a service that only the configuration knows gets the label that it says', async () => {
  await embedded.rig.history.until(node.name, CACHE_READY, 'true');
  const { body } = await httpGet(`${node.healthUrl}/healthz?verbose`);
  expect(body).toContain('probe-cache');
});

test('each service has its own failure threshold for a wrong status', async () => {
  const { history } = embedded.rig;
  const [fromMs, before] = [performance.now(), await softFindings('cache')];
  await Promise.all([cache.fault('status 503'), node.service('registry-facade').fault('status 500')]);
  await history.until(node.name, REGISTRY_FACADE_READY, undefined);
  expect(await softFindings('registry-facade')).toBe(1);
  await waitFor(
    'all but one of the failures',
    async () => (await softFindings('cache')) - before === CACHE_FAILURES - 1,
  );
  expect(history.labels(node.name)[CACHE_READY]).toBe('true');
  await history.until(node.name, CACHE_READY, undefined);
  expect((await softFindings('cache')) - before).toBe(CACHE_FAILURES);
  expect(history.since(fromMs, WS_DAEMON_READY)).toEqual([]);

  await Promise.all([cache.fault('none'), node.service('registry-facade').fault('none')]);
  await history.until(node.name, CACHE_READY, 'true');
  await history.until(node.name, REGISTRY_FACADE_READY, 'true');
});

test('the label of a further service goes at once when it is killed', async () => {
  const { history } = embedded.rig;
  const killedMs = performance.now();
  await cache.kill('SIGKILL');
  await history.until(node.name, CACHE_READY, undefined);
  const [gone] = history.since(killedMs, CACHE_READY);
  expect((gone?.atMs ?? Number.POSITIVE_INFINITY) - killedMs).toBeLessThan(1000);
  for (const other of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) expect(history.since(killedMs, other)).toEqual([]);

  cache = await startStandIn('http-service', { host: node.address, port });
  await history.until(node.name, CACHE_READY, 'true');
});

test('a service that only one side knows is withheld, or ignored', async () => {
  const { history } = embedded.rig;
  await embedded.controlPlane.kubectl(['label', 'node', node.name, `${GHOST_READY}=true`, `${PRIVATE_READY}=true`]);
  await waitFor('the label to be seen', () => history.since(0, GHOST_READY).length > 0);
  await history.until(node.name, GHOST_READY, undefined);
  expect(history.labels(node.name)[PRIVATE_READY]).toBe('true');
});

test('the label goes with a coordinator that no longer knows the service, though the agent reports on it', async () => {
  const { rig } = embedded;
  const fromMs = performance.now();
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.addCoordinator([`--config=${await configure('CoordinatorConfiguration', [])}`]);
  await rig.history.until(node.name, CACHE_READY, undefined);
  for (const other of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) expect(rig.history.since(fromMs, other)).toEqual([]);
});
