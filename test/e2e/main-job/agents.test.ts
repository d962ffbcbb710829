import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownNamespace } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';

const STALE_AFTER_SECONDS = 6;
/** More than the deadline by which a leader has to renew the Lease. */
const FROZEN_MS = 12_000;

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 4, coordinatorArgs: [`--stale-after-seconds=${STALE_AFTER_SECONDS}`] });
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());

/** How many reports were taken that count. */
async function reports(result: string): Promise<number> {
  return (await rig.leader()).metric('rollcall_coordinator_reports_total', { result });
}

/** Waits until the other agents have reported as often as they do in so many windows. */
async function windowsPass(windows: number): Promise<void> {
  const before = await reports('heartbeat');
  // A heartbeat comes three times in a window.
  const passed = async () => (await reports('heartbeat')) - before >= 3 * 3 * windows;
  await waitFor(`${windows} windows of heartbeats`, passed, { timeoutMs: 60_000, everyMs: 200 });
}

/** Deletes the pod of an agent, as the kubelet does once its containers have ended. */
function deleteAgentPod(name: string): Promise<unknown> {
  return embedded.controlPlane.api.delete(`/api/v1/namespaces/${ownNamespace}/pods/${name}`);
}

test('an agent counts again when the newer one of an undone rollout is gone', async () => {
  const node = rig.node(0);
  const fromMs = performance.now();
  const before = await reports('ignored');
  const { agent, podName } = await node.startSecondAgent();
  await waitFor('the older agent not to count', async () => (await reports('ignored')) > before, {
    timeoutMs: 30_000,
  });
  // Its process ends without a goodbye.
  await agent.kill('SIGKILL');
  await deleteAgentPod(podName);
  await windowsPass(3);
  expect(rig.history.since(fromMs, WS_DAEMON_READY, node.name)).toEqual([]);
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
  await node.revive('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
});

test('a goodbye costs no label when the same replica leads again', async () => {
  const node = rig.node(1);
  const fromMs = performance.now();
  await node.agent?.kill('SIGTERM');
  await deleteAgentPod(node.agentPod?.name ?? '');
  const leader = await rig.leader();
  const terms = () => leader.logs.filter(({ msg }) => msg === 'Started leading').length;
  expect(terms()).toBe(1);
  await leader.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, FROZEN_MS));
  await leader.kill('SIGCONT');
  await waitFor('another term', () => terms() === 2, { timeoutMs: 30_000 });
  await windowsPass(2);
  expect(rig.history.since(fromMs, WS_DAEMON_READY)).toEqual([]);
  await node.startSecondAgent();
  const fresh = async () => (await leader.metric('rollcall_coordinator_nodes', { state: 'fresh' })) === 4;
  await waitFor('the successor to be heard', fresh, { timeoutMs: 30_000 });
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
});
