import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { startThrottlingProxy, type ThrottlingProxy } from '../apply/throttling-proxy.ts';
import { ConditionHistory } from './condition-history.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

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
  await applyNodeServiceCrd(controlPlane);
});
afterAll(async () => {
  history?.stop();
  await mirror?.stop();
  await embedded?.stop();
  await proxy?.stop();
});

test('a leader that took the CRD of NodeServices for missing until a moment ago removes nothing that they ask for', async () => {
  const { rig, controlPlane } = embedded;
  const { name, address } = rig.node(0);
  const leader = await rig.leader();
  // Another in the place of the standby, where agents look for it.
  for (const each of rig.coordinators.filter((one) => one !== leader)) await rig.endCoordinator(each, 'SIGTERM');
  const show = proxy.hide(NODE_SERVICES);
  const standby = await rig.addCoordinator([`--master=${proxy.url}`]);
  await waitFor('the absence to count', () => standby.tail(100).includes('"resource":"nodeservices"'));
  const port = await freePort();
  mirror = await startStandIn('http-service', { host: address, port });
  const publish = { label: LABEL, condition: CONDITION };
  await controlPlane.api.post(
    NODE_SERVICES,
    nodeService('mirror', { probe: { http: { port, path: '/healthz' } }, publish }),
  );
  await history.until(name, CONDITION, 'True');
  await rig.history.until(name, LABEL, 'true');

  // It would ask again by itself after 5 s at least.
  show();
  const fromMs = performance.now();
  await rig.endCoordinator(leader, 'SIGTERM');
  expect(await rig.leader()).toBe(standby);
  const heard = async () => (await standby.metric('rollcall_coordinator_reports_total')) >= 3 * rig.nodes.length;
  await waitFor('reports', heard, { timeoutMs: 60_000 });
  expect(history.since(fromMs, CONDITION)).toEqual([]);
  expect(rig.history.since(fromMs, LABEL)).toEqual([]);
});
