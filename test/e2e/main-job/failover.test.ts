import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { Rig } from '../../rig/rig.ts';

/** real-times.test.ts measures the same in real time. */
const CLOCK_SPEED = 4;
const LEASE_MS = 15_000 / CLOCK_SPEED;

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 3, coordinators: 2, clockSpeed: CLOCK_SPEED });
  rig = embedded.rig;
  await rig.allReady();
});
afterAll(() => embedded?.stop());

/** Every agent reports to this coordinator. */
async function heardByAll(coordinator: Coordinator): Promise<void> {
  const heard = async () =>
    (await coordinator.metric('rollcall_coordinator_reports_total', { result: 'full' })) >= rig.nodes.length;
  await waitFor('all agents at the new leader', heard, { timeoutMs: 30_000 });
}

async function takeOver(signal: 'SIGKILL' | 'SIGTERM'): Promise<{ tookMs: number; exitCode: number | null }> {
  const old = await rig.leader();
  const fromMs = performance.now();
  const exiting = rig.endCoordinator(old, signal);
  const next = await rig.leader();
  const tookMs = performance.now() - fromMs;
  const exitCode = await exiting;
  await heardByAll(next);
  for (const key of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) expect(rig.history.since(fromMs, key)).toEqual([]);
  await rig.addCoordinator();
  await rig.coordinators.at(-1)?.ready();
  return { tookMs, exitCode };
}

describe('when the leader', () => {
  test('is stopped, the other leads at once, no label changes, nothing is written, and it exits with 0', async () => {
    const patches = await embedded.nodePatches();
    const { tookMs, exitCode } = await takeOver('SIGTERM');
    expect(exitCode).toBe(0);
    // Before its lease can have run out: it was renewed up to 2 s before.
    expect(tookMs).toBeLessThan(LEASE_MS * 0.8);
    expect(await embedded.nodePatches()).toBe(patches);
  });

  test('is killed, the other leads after the lease has run out, no label changes, and nothing is written', async () => {
    const patches = await embedded.nodePatches();
    const { tookMs } = await takeOver('SIGKILL');
    expect(tookMs).toBeLessThan(LEASE_MS + 4000);
    expect(await embedded.nodePatches()).toBe(patches);
  });

  test('is frozen until another leads, it writes nothing when it wakes', async () => {
    const old = await rig.leader();
    await old.kill('SIGSTOP');
    rig.coordinators.splice(rig.coordinators.indexOf(old), 1);
    const next = await rig.leader();
    await heardByAll(next);
    const node = rig.node(0);
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    const fromMs = performance.now();
    await old.kill('SIGCONT');
    rig.coordinators.push(old);
    await waitFor('the old leader to know', async () => !(await old.leads()));
    expect(rig.history.since(fromMs, WS_DAEMON_READY, node.name)).toEqual([]);
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    expect(await next.leads()).toBe(true);
  });
});

test('when the API server restarts, no label changes, and nothing is written', async () => {
  const fromMs = performance.now();
  const { controlPlane } = embedded;
  await controlPlane.killApiServer();
  await controlPlane.restartApiServer();
  // Its counts begin anew.
  const leader = await rig.leader();
  await waitFor('the caches to be synced', async () => (await httpGet(`${leader.healthUrl}/readyz`)).status === 200, {
    timeoutMs: 30_000,
  });
  await heardByAll(leader);
  for (const key of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) expect(rig.history.since(fromMs, key)).toEqual([]);
  expect(await embedded.nodePatches()).toBe(0);
  // It is no standstill.
  const node = rig.node(1);
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined, 30_000);
  await node.revive('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true', 30_000);
});

test('a service that dies while there is no leader loses its label as soon as there is one', async () => {
  const old = await rig.leader();
  await rig.endCoordinator(old, 'SIGKILL');
  const node = rig.node(1);
  await node.kill('ws-daemon');
  expect(rig.history.labels(node.name)[WS_DAEMON_READY]).toBe('true');
  await rig.leader();
  // An agent that has found no coordinator tries again every second or so.
  await rig.history.until(node.name, WS_DAEMON_READY, undefined, 6000);
  await node.revive('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
});

test('all coordinators restarting at once write nothing and withdraw nothing', async () => {
  const patches = await embedded.nodePatches();
  const fromMs = performance.now();
  await Promise.all([...rig.coordinators].map((coordinator) => rig.endCoordinator(coordinator, 'SIGTERM')));
  await rig.addCoordinator();
  await heardByAll(await rig.leader());
  expect(rig.history.changes.filter(({ atMs, key }) => atMs >= fromMs && key.startsWith('gitpod.io/'))).toEqual([]);
  expect(await embedded.nodePatches()).toBe(patches);
});
