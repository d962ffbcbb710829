import { SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createPod } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { startThrottlingProxy, type ThrottlingProxy } from '../apply/throttling-proxy.ts';
import { NODE_HOLDS } from '../holds/hold-stage.ts';
import { ConditionHistory } from './condition-history.ts';
import { applyCrd, NODE_SERVICES, nodeService } from './node-services.ts';

/** API group of both CRDs. */
const GROUP = '/apis/rollcall.dev';
const LABEL = 'service.rollcall.dev/mirror';
const CONDITION = 'service.rollcall.dev/Mirror';

let embedded: EmbeddedRig;
let proxy: ThrottlingProxy;
let mirror: StandIn | undefined;
let history: ConditionHistory;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    coordinators: 2,
    coordinatorArgs: ['--gitpod=false', '--stale-after-seconds=6'],
    nodes: 1,
  });
  const { controlPlane } = embedded;
  proxy = await startThrottlingProxy(controlPlane);
  history = new ConditionHistory(controlPlane.api);
  for (const plural of ['nodeservices', 'nodeholds'] as const) await applyCrd(controlPlane, plural);
});
afterAll(async () => {
  history?.stop();
  await mirror?.stop();
  await embedded?.stop();
  await proxy?.stop();
});

test('a leader that took the CRDs for missing until a moment ago removes nothing that NodeServices and NodeHolds ask for', async () => {
  const { rig, controlPlane } = embedded;
  const { name, address } = rig.node(0);
  const leader = await rig.leader();
  // Another in the place of the standby, where agents look for it.
  for (const each of rig.coordinators.filter((one) => one !== leader)) await rig.endCoordinator(each, 'SIGTERM');
  const show = proxy.hide(GROUP);
  const standby = await rig.addCoordinator([`--master=${proxy.url}`]);
  for (const resource of ['nodeservices', 'nodeholds'])
    await waitFor('the absence to count', () => standby.tail(100).includes(`"resource":"${resource}"`));
  const port = await freePort();
  mirror = await startStandIn('http-service', { host: address, port });
  const publish = { label: LABEL, condition: CONDITION };
  await controlPlane.api.post(
    NODE_SERVICES,
    nodeService('mirror', { checks: [{ name: 'port', http: { port, path: '/healthz' } }], publish }),
  );
  await history.until(name, CONDITION, 'True');
  await rig.history.until(name, LABEL, 'true');
  const labels = { backup: 'true' };
  await createPod(controlPlane.api, { namespace: 'default', name: 'backup', nodeName: name, labels, ready: true });
  await controlPlane.api.post(NODE_HOLDS, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeHold',
    metadata: { name: 'backup' },
    spec: { pods: { namespace: 'default', selector: { matchLabels: labels } } },
  });
  const isHeld = async () => {
    const { metadata } = await controlPlane.api.get<KubeObject>(`/api/v1/nodes/${name}`);
    return metadata.annotations?.[SCALE_DOWN_DISABLED] === 'true';
  };
  // The leader began before there was the CRD, and asks for it every 10 to 30 s.
  await waitFor('the node to be held', isHeld, { timeoutMs: 60_000 });

  // It would ask again by itself after 5 s at least.
  show();
  const fromMs = performance.now();
  await rig.endCoordinator(leader, 'SIGTERM');
  expect(await rig.leader()).toBe(standby);
  const heard = async () => (await standby.metric('rollcall_coordinator_reports_total')) >= 3 * rig.nodes.length;
  await waitFor('reports', heard, { timeoutMs: 60_000 });
  expect(history.since(fromMs, CONDITION)).toEqual([]);
  expect(rig.history.since(fromMs, LABEL)).toEqual([]);
  expect(await isHeld()).toBe(true);
  expect(await standby.metric('rollcall_coordinator_patches_total', { outcome: 'applied' })).toBe(0);
});

test('a coordinator is ready when it has listed the NodeServices, and does not wait for CRDs that are missing', async () => {
  const { rig } = embedded;
  const release = proxy.hold(NODE_SERVICES);
  const standby = await rig.addCoordinator([`--master=${proxy.url}`]);
  const readiness = () => standby.get('/readyz?verbose');
  const waits = '[-]caches failed: not listed yet: NodeServices\n';
  await waitFor('the others to be listed', async () => (await readiness()).body.includes(waits));
  expect((await readiness()).status).toBe(503);
  release();
  await standby.ready();
  expect((await readiness()).body).toContain('[+]caches ok');
});
