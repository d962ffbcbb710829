import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';

const CLOCK_SPEED = 4;
const STALE_AFTER_SECONDS = 12;
/** How long the window is for the machine. */
const STALE_AFTER_MS = (STALE_AFTER_SECONDS * 1000) / CLOCK_SPEED;
/**
 * From so long on an agent takes what it saw before for nothing: 10 s on its own clock, after the period of its probes
 * and a moment more.
 */
const STOOD_STILL_MS = 10_000 / CLOCK_SPEED + 2000;

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 10,
    coordinatorArgs: [`--stale-after-seconds=${STALE_AFTER_SECONDS}`],
    clockSpeed: CLOCK_SPEED,
  });
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());

function silentNodes(): Promise<number> {
  return rig.leader().then((leader) => leader.metric('rollcall_coordinator_nodes', { state: 'silent' }));
}

async function guarded(): Promise<boolean> {
  return (await (await rig.leader()).metric('rollcall_coordinator_guarded_nodes', { subject: 'agents' })) > 0;
}

test('one silent agent of ten costs its node both labels after the window, and no other node a label', async () => {
  const [node, ...others] = rig.nodes;
  if (!node) throw new Error('no node');
  const fromMs = performance.now();
  await node.agent?.kill('SIGSTOP');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined, 20_000);
  await rig.history.until(node.name, REGISTRY_FACADE_READY, undefined);
  const [gone] = rig.history.since(fromMs, WS_DAEMON_READY, node.name);
  // Its last report came at most one heartbeat (a third of the window) before it was stopped.
  expect((gone?.atMs ?? 0) - fromMs).toBeGreaterThan((STALE_AFTER_MS * 2) / 3 - 500);
  for (const { name } of others) expect(rig.history.since(fromMs, WS_DAEMON_READY, name)).toEqual([]);
  await node.agent?.kill('SIGCONT');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  await rig.history.until(node.name, REGISTRY_FACADE_READY, 'true');
});

test('an agent that stood still does not vouch for what it saw before', async () => {
  const node = rig.node(2);
  const stoppedMs = performance.now();
  await node.agent?.kill('SIGSTOP');
  await rig.history.until(node.name, REGISTRY_FACADE_READY, undefined, 20_000);
  await node.service('registry-facade').fault('hang');
  await new Promise((resolve) => setTimeout(resolve, stoppedMs + STOOD_STILL_MS - performance.now()));
  const fromMs = performance.now();
  await node.agent?.kill('SIGCONT');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  await waitFor('all nodes to be heard', async () => (await silentNodes()) === 0, { timeoutMs: 30_000, everyMs: 200 });
  expect(rig.history.since(fromMs, REGISTRY_FACADE_READY, node.name)).toEqual([]);
  await node.service('registry-facade').fault('none');
  await rig.history.until(node.name, REGISTRY_FACADE_READY, 'true');
});

test('all agents silent at once cost no label, and the guard shows until they are back', async () => {
  const fromMs = performance.now();
  await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGSTOP')));
  await waitFor('the guard', guarded, { timeoutMs: 30_000, everyMs: 200 });
  await waitFor('all nodes to be silent', async () => (await silentNodes()) === 10, {
    timeoutMs: 30_000,
    everyMs: 200,
  });
  await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGCONT')));
  await waitFor('the guard to clear', async () => !(await guarded()), { timeoutMs: 30_000, everyMs: 200 });
  await waitFor('all nodes to be heard', async () => (await silentNodes()) === 0, { timeoutMs: 30_000, everyMs: 200 });
  expect(rig.history.changes.filter(({ atMs }) => atMs >= fromMs)).toEqual([]);
});

test('while the guard holds, a pod that is not Ready still costs its label', async () => {
  await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGSTOP')));
  await waitFor('the guard', guarded, { timeoutMs: 30_000, everyMs: 200 });
  const { name } = rig.node(4);
  const fromMs = performance.now();
  await embedded.controlPlane.api.delete(`/api/v1/namespaces/default/pods/ws-daemon-${name}`);
  await rig.history.until(name, WS_DAEMON_READY, undefined);
  expect(rig.history.since(fromMs, REGISTRY_FACADE_READY)).toEqual([]);
  await Promise.all(rig.nodes.map((node) => node.agent?.kill('SIGCONT')));
});

test('agents that say goodbye and come back cost no label', async () => {
  await waitFor('all nodes to be heard', async () => (await silentNodes()) === 0, { timeoutMs: 30_000, everyMs: 200 });
  const fromMs = performance.now();
  const node = rig.node(7);
  expect(await node.agent?.kill('SIGTERM')).toBe(0);
  const leader = await rig.leader();
  expect(await leader.metric('rollcall_coordinator_reports_total', { result: 'leaving' })).toBeGreaterThan(0);
  // Twice the window passes in which a node that said nothing would lose its labels.
  const heartbeats = () => leader.metric('rollcall_coordinator_reports_total', { result: 'heartbeat' });
  const before = await heartbeats();
  const passed = async () => (await heartbeats()) - before >= 9 * 2 * 3;
  await waitFor('two windows of heartbeats', passed, { timeoutMs: 40_000, everyMs: 200 });
  node.startAgent();
  await waitFor('the agent to be heard', async () => (await silentNodes()) === 0 && node.agent?.running);
  expect(rig.history.since(fromMs, WS_DAEMON_READY, node.name)).toEqual([]);
});
