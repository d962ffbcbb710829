import { setTimeout as sleep } from 'node:timers/promises';
import { notReadyTaint } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { setPodReady } from '../../control-plane/cluster.ts';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { keyIn, untilExplained, untilServiceExplained } from './explained.ts';
import { NodeStates, taintKeys } from './node-states.ts';
import { firstPod, probeIn } from './service-pods.ts';

const FALLS_FREE = 3;
const CLOCK_SPEED = 4;
/** For the machine. */
const FIRST_HOLD_MS = 10_000 / CLOCK_SPEED;
/** Anything that comes within it was not held back; generous, as machines are busy. */
const AT_ONCE_MS = 5000;
const WS_DAEMON_TAINT = notReadyTaint('ws-daemon');
const WORKSPACE_NODE = { 'gitpod.io/workload_workspace_regular': 'true' };

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 4,
    agentArgs: ['period', 'idle-period'].map((time) => `--probe-${time}-ms=${200 * CLOCK_SPEED}`),
    clockSpeed: CLOCK_SPEED,
  });
  rig = embedded.rig;
  await rig.addNode({ labels: WORKSPACE_NODE });
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());

function setWsDaemonPod(node: SimulatedNode, ready: boolean): Promise<unknown> {
  return setPodReady(embedded.controlPlane.api, 'default', firstPod(node, 'ws-daemon'), ready);
}

/** The pod becomes not Ready and Ready so many times, as fast as that can be said. */
async function crash(node: SimulatedNode, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await setWsDaemonPod(node, false);
    await setWsDaemonPod(node, true);
  }
}

function heldBackEvents({ name }: SimulatedNode): Promise<(KubeObject & { message: string; count: number })[]> {
  const selector = `involvedObject.kind=Node,involvedObject.name=${name},reason=ServiceHeldBack`;
  return embedded.controlPlane.api.list(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
}

/** How long it is until a time that the console shows, for the machine. */
function leftUntil(time: string): number {
  return rig.clock.realMs(Date.parse(time) - rig.clock.now());
}

function withdrawals(key: string, node: SimulatedNode): number {
  return rig.history.since(0, key, node.name).filter(({ to }) => to === undefined).length;
}

describe.concurrent('a service that comes and goes', () => {
  test('with its pod is held back after the fourth fall, for 10 s, and comes back by itself', async () => {
    const { history } = rig;
    const node = rig.node(0);
    const { name } = node;
    let fellMs = 0;
    for (let fall = 1; fall <= FALLS_FREE + 1; fall += 1) {
      fellMs = performance.now();
      await setWsDaemonPod(node, false);
      await history.until(name, WS_DAEMON_READY, undefined, AT_ONCE_MS);
      await setWsDaemonPod(node, true);
      if (fall <= FALLS_FREE) await history.until(name, WS_DAEMON_READY, 'true', AT_ONCE_MS);
    }

    const page = await untilExplained(rig, name, ({ services }) => services[0]?.pods[0]?.ready === true);
    const until = page.services[0]?.heldBack?.until ?? '';
    const reason = `held back until ${until}, since it became not ready 4 times in 5 minutes; now: pod default/${firstPod(node, 'ws-daemon')} is Ready; `;
    expect(page.services).toMatchObject([
      { name: 'ws-daemon', state: 'not-ready', heldBack: { falls: 4 }, reason: expect.stringContaining(reason) },
      { name: 'registry-facade', state: 'ready' },
    ]);
    expect(page.services[1]?.heldBack).toBeUndefined();
    const key = keyIn(page, WS_DAEMON_READY);
    expect(key).toMatchObject({ stance: 'absent', onNode: null, reason: page.services[0]?.reason });
    expect(page.pending).toBeUndefined();
    const leftMs = leftUntil(until);
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(FIRST_HOLD_MS);
    expect(await (await rig.leader()).metric('rollcall_coordinator_held_back_services')).toBeGreaterThan(0);

    await history.until(name, WS_DAEMON_READY, 'true', FIRST_HOLD_MS + AT_ONCE_MS);
    const [back] = history.since(fellMs, WS_DAEMON_READY, name).slice(-1);
    expect((back?.atMs ?? 0) - fellMs).toBeGreaterThan(FIRST_HOLD_MS - 500);
    expect(withdrawals(WS_DAEMON_READY, node)).toBe(FALLS_FREE + 1);
    expect(withdrawals(REGISTRY_FACADE_READY, node)).toBe(0);
    expect(await heldBackEvents(node)).toMatchObject([
      {
        count: 1,
        message:
          'ws-daemon became not ready too often in 5 minutes and is held back: it counts as not ready for a while',
      },
    ]);
  });

  test('with its answers stays out for as long as it goes on, longer with each fall', async () => {
    const node = rig.node(1);
    const falls = 8;
    for (let fall = 1; fall <= falls; fall += 1) {
      for (const fault of ['refuse', 'none']) {
        await node.service('registry-facade').fault(fault);
        await sleep(500);
        const seen = await untilServiceExplained(rig, node.name, 'registry-facade', (shown) => {
          return probeIn(shown)?.state === (fault === 'none' ? 'ready' : 'not-ready');
        });
        expect(seen.heldBack?.falls).toBe(fall > FALLS_FREE ? fall : undefined);
        if (fall > FALLS_FREE) expect(seen.state).toBe('not-ready');
        else await rig.history.until(node.name, REGISTRY_FACADE_READY, fault === 'none' ? 'true' : undefined);
      }
    }
    const changes = rig.history.since(0, REGISTRY_FACADE_READY, node.name).map(({ to }) => to);
    // It came, and went and came three times; after the fourth time it stays away.
    expect(changes.slice(-1)).toEqual([undefined]);
    expect(changes.filter((to) => to === undefined)).toHaveLength(FALLS_FREE + 1);
    const { heldBack } = await untilServiceExplained(rig, node.name, 'registry-facade', () => true);
    expect(leftUntil(heldBack?.until ?? '')).toBeGreaterThan(FIRST_HOLD_MS * 8);
    expect(withdrawals(WS_DAEMON_READY, node)).toBe(0);
    expect(await heldBackEvents(node)).toHaveLength(1);
  });

  test('because it resets every connection does not flap', async () => {
    const node = rig.node(2);
    await node.service('ws-daemon').fault('reset');
    const probes = async () => {
      const { body } = await httpGet(`${node.healthUrl}/metrics`);
      return sumSamples(body, 'rollcall_agent_probes_total', { service: 'ws-daemon' });
    };
    const falls = () => node.agent?.logs.filter(({ service, ready }) => service === 'ws-daemon' && ready === false);
    const before = await probes();
    // The kernel takes the connection first: what a probe sees depends on how soon the reset comes.
    const enough = async () => (falls()?.length ?? 0) > 2 * FALLS_FREE || (await probes()) >= before + 300;
    await waitFor('many falls, or very many probes', enough, { timeoutMs: 50_000, everyMs: 100 });
    expect(withdrawals(WS_DAEMON_READY, node)).toBeLessThanOrEqual(FALLS_FREE + 1);
    expect(withdrawals(REGISTRY_FACADE_READY, node)).toBe(0);
    await node.service('ws-daemon').fault('none');
  });
});

test('what comes and goes on some nodes is nothing to another', async () => {
  const { name } = rig.node(3);
  const leader = await rig.leader();
  const { services } = await leader.explain(name);
  expect(services).toMatchObject([{ state: 'ready' }, { state: 'ready' }]);
  expect(rig.history.changes.filter(({ node, to }) => node === name && to === undefined)).toEqual([]);
  const list = await leader.console<{ nodes: { name: string; heldBack: string[] }[] }>('/v1/nodes');
  const heldBack = Object.fromEntries(list?.nodes.map((node) => [node.name, node.heldBack]) ?? []);
  expect(heldBack).toMatchObject({ [rig.node(1).name]: ['registry-facade'], [name]: [] });
});

describe('a new leader', () => {
  test('counts anew: what its predecessor held back is ready as soon as it is heard', async () => {
    const node = rig.node(4);
    await crash(node, 6);
    const { heldBack } = await untilServiceExplained(
      rig,
      node.name,
      'ws-daemon',
      (shown) => shown.heldBack?.falls === 6,
    );
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    await rig.addCoordinator(['--readiness-gate=taint']);
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    expect(leftUntil(heldBack?.until ?? '')).toBeGreaterThan(0);
    expect(await (await rig.leader()).metric('rollcall_coordinator_held_back_services')).toBe(0);
  });

  test('with --readiness-gate=taint keeps the taint during the hold, and takes it away afterwards', async () => {
    const node = rig.node(4);
    const states = new NodeStates(embedded.controlPlane.api);
    try {
      await states.until(node.name, 'no taint', (state) => taintKeys(state).length === 0);
      const since = states.mark(node.name);
      for (let fall = 1; fall <= FALLS_FREE; fall += 1) {
        await setWsDaemonPod(node, false);
        await states.until(node.name, 'tainted', (state) => taintKeys(state).includes(WS_DAEMON_TAINT), AT_ONCE_MS);
        await setWsDaemonPod(node, true);
        await states.until(node.name, 'no taint', (state) => taintKeys(state).length === 0, AT_ONCE_MS);
      }
      const fellMs = performance.now();
      await crash(node, 1);
      // The fourth fall counts from when the pod is not Ready; it is held back from when it is Ready again.
      const page = await untilExplained(rig, node.name, (shown) =>
        keyIn(shown, WS_DAEMON_TAINT).reason.startsWith('held back'),
      );
      expect(page.services[0]?.heldBack?.falls).toBe(4);
      expect(keyIn(page, WS_DAEMON_TAINT).stance).toBe('present');
      await states.until(node.name, 'tainted', (state) => taintKeys(state).includes(WS_DAEMON_TAINT), AT_ONCE_MS);
      expect(await (await rig.leader()).metric('rollcall_coordinator_held_back_services')).toBe(1);

      const untainted = (state: Parameters<typeof taintKeys>[0]) => taintKeys(state).length === 0;
      await states.until(node.name, 'no taint', untainted, FIRST_HOLD_MS + AT_ONCE_MS);
      expect(performance.now() - fellMs).toBeGreaterThan(FIRST_HOLD_MS - 500);
      expect(since().every(({ labels }) => labels[WS_DAEMON_READY] === 'true')).toBe(true);
      expect(await (await rig.leader()).metric('rollcall_coordinator_held_back_services')).toBe(0);
    } finally {
      states.stop();
    }
  });
});
