import { afterAll, beforeAll, expect, test } from 'vitest';
import { setPodReady } from '../../control-plane/cluster.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { addServicePod, firstPod, forceDelete, terminate } from '../gitpod/service-pods.ts';

/** Far below a heartbeat of ten seconds; generous, as machines are busy. */
const SOON_MS = 4000;

let embedded: EmbeddedRig;
let rig: Rig;
let replacement: StandIn | undefined;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 1 });
  rig = embedded.rig;
  await rig.allReady();
});
afterAll(async () => {
  await replacement?.stop();
  await embedded?.stop();
});

test('a pod that replaces another, at an address of its own, counts soon after it is Ready', async () => {
  const { api } = embedded.controlPlane;
  const node = rig.node(0);
  const fromMs = performance.now();
  const { port } = node.service('ws-daemon');
  await terminate(api, firstPod(node, 'ws-daemon'));
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
  await forceDelete(api, firstPod(node, 'ws-daemon'));
  const host = node.podAddress.replace(/\d+$/, '201');
  await addServicePod(api, node, 'ws-daemon', 'replacement', { podIP: host, ready: false });
  replacement = await startStandIn('ws-daemon', { host, port });
  const readyMs = performance.now();
  await setPodReady(api, 'default', 'replacement', true);
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  const back = rig.history.since(readyMs, WS_DAEMON_READY, node.name).find(({ to }) => to === 'true');
  expect((back?.atMs ?? Number.POSITIVE_INFINITY) - readyMs).toBeLessThan(SOON_MS);
  expect(rig.history.since(fromMs, REGISTRY_FACADE_READY)).toEqual([]);
});
