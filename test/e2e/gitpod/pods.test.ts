import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNamespace, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { embeddedCluster } from '../../rig/cluster.ts';
import { fenceForServices } from '../../rig/fence.ts';
import { Rig } from '../../rig/rig.ts';
import { startStandIn } from '../../stand-ins/stand-in.ts';
import { addServicePod, firstPod, forceDelete, shownService, terminate } from './service-pods.ts';

const namespace = 'gitpod';
const label = 'gitpod.io/ws-daemon_ready_ns_gitpod';
const facadeLabel = 'gitpod.io/registry-facade_ready_ns_gitpod';

let rig: Rig;
beforeAll(async () => {
  const cluster = await embeddedCluster(fenceForServices({ namespace }));
  await createNamespace(cluster.api, namespace);
  // 200 and 500 ms of the machine.
  const agentArgs = ['--probe-period-ms=800', '--probe-idle-period-ms=800', '--probe-timeout-ms=2000'];
  rig = await Rig.start({ cluster, nodes: 3, coordinators: 2, namespace, agentArgs, clockSpeed: 4 });
  await rig.allReady();
});
afterAll(async () => {
  await rig?.stop();
  await rig?.cluster.stop();
});

const api = () => rig.cluster.api;

async function podsShown(node: string): Promise<readonly object[]> {
  return (await shownService(rig, node, 'ws-daemon')).pods;
}

describe('a terminating pod beside a Ready one', () => {
  test('does no harm when the Ready one came first', async () => {
    const node = rig.node(0);
    const old = firstPod(node, 'ws-daemon');
    const fromMs = performance.now();
    await addServicePod(api(), node, 'ws-daemon', 'younger', { namespace });
    await waitFor('both pods', async () => (await podsShown(node.name)).length === 2);
    await terminate(api(), old, namespace);
    await setPodReady(api(), namespace, old, false);
    const terminating = { pod: `${namespace}/${old}`, ready: false, terminating: true };
    await expect.poll(() => podsShown(node.name)).toContainEqual(terminating);
    await forceDelete(api(), old, namespace);
    await waitFor('the old pod to be gone', async () => (await podsShown(node.name)).length === 1);
    expect(rig.history.since(fromMs, label, node.name)).toEqual([]);
  });

  test('does no harm when it was terminating before the Ready one came, and says more afterwards', async () => {
    const node = rig.node(0);
    await terminate(api(), 'younger', namespace);
    await rig.history.until(node.name, label, undefined);
    await addServicePod(api(), node, 'ws-daemon', 'youngest', { namespace });
    await rig.history.until(node.name, label, 'true');
    const fromMs = performance.now();
    await setPodReady(api(), namespace, 'younger', false);
    const terminating = { pod: `${namespace}/younger`, ready: false, terminating: true };
    await expect.poll(() => podsShown(node.name)).toContainEqual(terminating);
    await forceDelete(api(), 'younger', namespace);
    await waitFor('the old pod to be gone', async () => (await podsShown(node.name)).length === 1);
    expect(rig.history.since(fromMs, label, node.name)).toEqual([]);
  });
});

describe('a registry-facade with a Ready pod', () => {
  beforeAll(async () => {
    await rig.node(1).service('registry-facade').fault('status 503');
    await rig.history.until(rig.node(1).name, facadeLabel, undefined);
  });

  /** The label stays away while the evidence says this. */
  async function staysAway(evidence: RegExp): Promise<void> {
    const { name } = rig.node(1);
    const said = async () => (await shownService(rig, name, 'registry-facade')).reason;
    // Evidence that changes often is reported every ten seconds.
    await expect.poll(said, { timeout: 20_000 }).toMatch(evidence);
    expect(rig.history.labels(name)).not.toHaveProperty([facadeLabel]);
  }

  test.each([
    ['status 200', /answered 200, 404 was expected/],
    ['status 401', /answered 401, 404/],
    ['status 500', /answered 500, 404/],
    ['slow 1500', /no answer|timed? ?out|within/i],
  ])('P4: gets no label for %s', async (fault, evidence) => {
    await rig.node(1).service('registry-facade').fault(fault);
    await staysAway(evidence);
  });

  test('P5: gets no label while it refuses connections', async () => {
    await rig.node(1).service('registry-facade').fault('refuse');
    await staysAway(/refused/);
  });

  test('P4: gets no label for what is no TLS, and gets it for 404 by whatever certificate', async () => {
    const node = rig.node(1);
    const { host, port } = node.service('registry-facade');
    const plain = await startStandIn('ws-daemon', { host, port, args: ['--http2'] });
    await staysAway(/EPROTO/);
    await plain.stop();
    await node.service('registry-facade').fault('none');
    await rig.history.until(node.name, facadeLabel, 'true');
  });
});

describe('the label goes', () => {
  test('when the pod is deleted by force, and stays away while no other comes', async () => {
    const node = rig.node(1);
    const fromMs = performance.now();
    await forceDelete(api(), firstPod(node, 'ws-daemon'), namespace);
    await rig.history.until(node.name, label, undefined);
    expect((await shownService(rig, node.name, 'ws-daemon')).reason).toBe(
      `no pod on the node matches component=ws-daemon in ${namespace}`,
    );
    await addServicePod(api(), node, 'ws-daemon', 'replacement', { namespace });
    await rig.history.until(node.name, label, 'true');
    expect(rig.history.since(fromMs, label, node.name)).toHaveLength(2);
  });

  test('when the DaemonSet no longer wants the node: its pod ends in order, and none follows', async () => {
    const node = rig.node(1);
    await terminate(api(), 'replacement', namespace);
    await rig.history.until(node.name, label, undefined);
    await forceDelete(api(), 'replacement', namespace);
    const reason = async () => (await shownService(rig, node.name, 'ws-daemon')).reason;
    await expect.poll(reason).toBe(`no pod on the node matches component=ws-daemon in ${namespace}`);
    expect(rig.history.labels(node.name)).not.toHaveProperty([label]);
  });

  test('when the pod is deleted while there is no leader, as soon as there is one', async () => {
    const node = rig.node(2);
    const kept = firstPod(rig.node(0), 'registry-facade');
    const old = await rig.leader();
    await rig.endCoordinator(old, 'SIGKILL');
    await forceDelete(api(), firstPod(node, 'ws-daemon'), namespace);
    expect(rig.history.labels(node.name)[label]).toBe('true');
    const fromMs = performance.now();
    await rig.leader();
    await rig.history.until(node.name, label, undefined);
    const others = rig.history.changes.filter(({ atMs, node: name }) => atMs >= fromMs && name !== node.name);
    expect(others, `${kept} and the others are as they were`).toEqual([]);
  });
});
