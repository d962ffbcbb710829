import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNamespace, createNode, setPodReady } from '../../control-plane/cluster.ts';
import { requestAgentToken } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { startStandIn } from '../../stand-ins/stand-in.ts';
import { addServicePod, firstPod, forceDelete, probeIn, shownService, terminate } from './service-pods.ts';

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 3,
    coordinatorArgs: ['--stale-after-seconds=6'],
    agentArgs: ['--probe-period-ms=200', '--probe-idle-period-ms=200', '--probe-timeout-ms=500'],
  });
  rig = embedded.rig;
  await rig.allReady();
});
afterAll(() => embedded?.stop());

const api = () => embedded.controlPlane.api;
const pods = '/api/v1/namespaces/default/pods';

function patchPodStatus(pod: string, status: object): Promise<unknown> {
  return api().patch(`${pods}/${pod}/status`, { status });
}

function setLabel(node: string, key: string, value: string | null): Promise<unknown> {
  return api().patch(`/api/v1/nodes/${node}`, { metadata: { labels: { [key]: value } } });
}

/** Waits until the coordinator shows a pod for a service, and returns all that it shows. */
async function shownPods(node: string, service: string, awaited: string): Promise<string[]> {
  const names = async () => (await shownService(rig, node, service)).pods.map(({ pod }) => pod);
  await waitFor(`${awaited} to be seen`, async () => (await names()).includes(awaited));
  return names();
}

describe('a pod', () => {
  test('P1: without a node leads to no write, and counts once it has one', async () => {
    const node = rig.node(0);
    await forceDelete(api(), firstPod(node, 'ws-daemon'));
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    const patches = await embedded.nodePatches();
    const { name, podAddress } = node;
    const unplaced = { metadata: { name: 'late', labels: { component: 'ws-daemon' } } };
    await api().post(pods, { ...unplaced, spec: { containers: [{ name: 'main', image: 'none' }] } });
    await api().post(`${pods}/late/binding`, { metadata: { name: 'late' }, target: { kind: 'Node', name } });
    expect(await shownPods(name, 'ws-daemon', 'default/late')).toEqual(['default/late']);
    expect(rig.history.labels(name)).not.toHaveProperty([WS_DAEMON_READY]);
    await setPodReady(api(), 'default', 'late', true);
    await patchPodStatus('late', { podIP: podAddress, podIPs: [{ ip: podAddress }] });
    await rig.history.until(name, WS_DAEMON_READY, 'true');
    expect(await embedded.nodePatches()).toBe(patches + 1);
  });

  test('P2: of ws-daemon that is Ready, with a service that takes connections, gives the label', async () => {
    const node = rig.node(1);
    expect(rig.history.labels(node.name)[WS_DAEMON_READY]).toBe('true');
    const { reason } = await shownService(rig, node.name, 'ws-daemon');
    expect(reason).toContain(`pod default/${firstPod(node, 'ws-daemon')} is Ready; `);
    expect(reason).toMatch(/connection/);
  });

  test('P3: of registry-facade that is Ready, with a service that answers 404, gives the label', async () => {
    const node = rig.node(1);
    expect(rig.history.labels(node.name)[REGISTRY_FACADE_READY]).toBe('true');
    const { reason } = await shownService(rig, node.name, 'registry-facade');
    expect(reason).toContain(`pod default/${firstPod(node, 'registry-facade')} is Ready; `);
    expect(reason).toMatch(/answered 404/);
  });

  test('P8: that stops being Ready takes the label along, and gives it back', async () => {
    const { name } = rig.node(0);
    await setPodReady(api(), 'default', 'late', false);
    await rig.history.until(name, WS_DAEMON_READY, undefined);
    expect((await shownService(rig, name, 'ws-daemon')).reason).toBe('pod default/late is not Ready');
    await setPodReady(api(), 'default', 'late', true);
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });

  test('P9: that is being deleted takes the label along, even while it is Ready', async () => {
    const node = rig.node(0);
    await terminate(api(), 'late');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    const shown = await shownService(rig, node.name, 'ws-daemon');
    expect(shown.pods).toEqual([{ pod: 'default/late', ready: true, terminating: true }]);
    expect(probeIn(shown)?.state).toBe('ready');
    await forceDelete(api(), 'late');
    await addServicePod(api(), node, 'ws-daemon', firstPod(node, 'ws-daemon'));
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  });

  test('P12: that is gone before the coordinator sees it changes nothing', async () => {
    const node = rig.node(1);
    const { name } = node;
    const patches = await embedded.nodePatches();
    for (let turn = 0; turn < 5; turn += 1) {
      await addServicePod(api(), node, 'ws-daemon', `brief-${turn}`, { ready: false });
      await forceDelete(api(), `brief-${turn}`);
    }
    await addServicePod(api(), node, 'ws-daemon', 'lasting', { ready: false });
    expect(await shownPods(name, 'ws-daemon', 'default/lasting')).toHaveLength(2);
    await forceDelete(api(), 'lasting');
    expect(await embedded.nodePatches()).toBe(patches);
  });

  test('P14: without the label of a component is not seen, whatever its name', async () => {
    const node = rig.node(0);
    await forceDelete(api(), firstPod(node, 'registry-facade'));
    await rig.history.until(node.name, REGISTRY_FACADE_READY, undefined);
    await addServicePod(api(), node, 'registry-facade', 'registry-facade-unlabeled', { labels: {} });
    await addServicePod(api(), node, 'registry-facade', 'another-name', { ready: false });
    const seen = await shownPods(node.name, 'registry-facade', 'default/another-name');
    expect(seen).toEqual(['default/another-name']);
    expect(rig.history.labels(node.name)).not.toHaveProperty([REGISTRY_FACADE_READY]);
  });

  test('P15: of another namespace is not seen', async () => {
    const node = rig.node(0);
    await createNamespace(api(), 'elsewhere');
    await addServicePod(api(), node, 'registry-facade', 'registry-facade-x', { namespace: 'elsewhere' });
    await addServicePod(api(), node, 'registry-facade', 'later', { ready: false });
    const seen = await shownPods(node.name, 'registry-facade', 'default/later');
    expect(seen.toSorted()).toEqual(['default/another-name', 'default/later']);
    expect(rig.history.labels(node.name)).not.toHaveProperty([REGISTRY_FACADE_READY]);
  });

  test('P13: counts by its label, whatever its name', async () => {
    const { name } = rig.node(0);
    await setPodReady(api(), 'default', 'another-name', true);
    await rig.history.until(name, REGISTRY_FACADE_READY, 'true');
    const { reason } = await shownService(rig, name, 'registry-facade');
    expect(reason).toContain('pod default/another-name is Ready; ');
  });

  test('P16: of ws-daemon is probed at its own address, and of registry-facade at the address of its node', async () => {
    const node = rig.node(1);
    const { port } = node.service('ws-daemon');
    const elsewhere = node.address.replace(/\d+$/, '201');
    const nobody = node.address.replace(/\d+$/, '202');
    const moved = await startStandIn('ws-daemon', { host: elsewhere, port });
    const fromMs = performance.now();
    await patchPodStatus(firstPod(node, 'registry-facade'), { podIP: nobody, podIPs: [{ ip: nobody }] });
    await patchPodStatus(firstPod(node, 'ws-daemon'), { podIP: elsewhere, podIPs: [{ ip: elsewhere }] });
    await waitFor('the new address to be asked', async () => (await moved.stats()).accepted > 0);
    await node.kill('ws-daemon');
    expect((await shownService(rig, node.name, 'ws-daemon')).state).toBe('ready');
    await moved.fault('refuse');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    await moved.fault('none');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    expect(rig.history.since(fromMs, REGISTRY_FACADE_READY, node.name)).toEqual([]);
    await node.revive('ws-daemon');
    await patchPodStatus(firstPod(node, 'ws-daemon'), { podIP: node.podAddress, podIPs: [{ ip: node.podAddress }] });
    const back = async () => (await node.service('ws-daemon').stats()).accepted > 0;
    await waitFor('the old address to be asked again', back);
    await moved.stop();
    expect(rig.history.since(fromMs, WS_DAEMON_READY, node.name)).toHaveLength(2);
  });
});

describe('a node', () => {
  test('P6: that is as it should be is asked on, and not written', async () => {
    const { name } = rig.node(0);
    const patches = await embedded.nodePatches();
    const probes = async () => (await rig.node(0).service('registry-facade').stats()).requests;
    const before = await probes();
    await api().patch(`${pods}/another-name`, { metadata: { annotations: { touched: 'yes' } } });
    await api().patch(`/api/v1/nodes/${name}/status`, { status: { nodeInfo: { kernelVersion: '6.1' } } });
    await waitFor('more probes', async () => (await probes()) >= before + 5);
    expect(await embedded.nodePatches()).toBe(patches);
  });

  test('P7: with another value in the label has none, and gets it', async () => {
    const { name } = rig.node(0);
    const fromMs = performance.now();
    await setLabel(name, WS_DAEMON_READY, 'false');
    await waitFor('both changes', () => rig.history.since(fromMs, WS_DAEMON_READY, name).length >= 2);
    expect(rig.history.since(fromMs, WS_DAEMON_READY, name)).toMatchObject([{ to: 'false' }, { to: 'true' }]);
  });

  test('P17: that is written by others at the same time gets the label in spite of real conflicts', async () => {
    const { name } = rig.node(0);
    const leader = await rig.leader();
    const conflicts = () => leader.metric('rollcall_coordinator_patches_total', { kind: 'set', outcome: 'stale' });
    const before = await conflicts();
    let busy = true;
    const others = ['a', 'b', 'c'].map(async (writer) => {
      for (let turn = 0; busy; turn += 1) {
        await api().patch(`/api/v1/nodes/${name}`, { metadata: { annotations: { [`kubelet-${writer}`]: `${turn}` } } });
      }
    });
    try {
      const twoConflicts = async () => {
        if (rig.history.labels(name)[WS_DAEMON_READY] === 'true') await setLabel(name, WS_DAEMON_READY, 'false');
        return (await conflicts()) >= before + 2;
      };
      // A conflict is a matter of chance: as many chances as there can be.
      await waitFor('two conflicts', twoConflicts, { timeoutMs: 60_000, everyMs: 25 });
    } finally {
      busy = false;
      await Promise.all(others);
    }
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });

  test('P19: gets a label back at once that was removed by hand', async () => {
    const { name } = rig.node(0);
    const fromMs = performance.now();
    await setLabel(name, REGISTRY_FACADE_READY, null);
    // Everything is looked at anew every five minutes: that would be too late for this.
    await waitFor('both changes', () => rig.history.since(fromMs, REGISTRY_FACADE_READY, name).length >= 2);
    expect(rig.history.labels(name)[REGISTRY_FACADE_READY]).toBe('true');
  });

  test('P10: that is gone when a label should go is no error, and nothing is tried again', async () => {
    const node = rig.node(2);
    const leader = await rig.leader();
    const patches = () => leader.metric('rollcall_coordinator_patches_total');
    await api().delete(`/api/v1/nodes/${node.name}`);
    await Promise.all((['ws-daemon', 'registry-facade'] as const).map((kind) => node.kill(kind)));
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), false);
    await waitFor('the node to be forgotten', () =>
      leader.explain(node.name).then(
        () => false,
        () => true,
      ),
    );
    const before = await patches();
    await setLabel(rig.node(0).name, WS_DAEMON_READY, 'false');
    await waitFor('a write elsewhere', async () => (await patches()) > before);
    expect(await patches()).toBe(before + 1);
    expect(leader.logs.filter(({ level, node: about }) => about === node.name && level === 'warn')).toEqual([]);
  });

  test('P11: that comes after its pods gets the labels when they have become Ready since', async () => {
    const node = rig.node(2);
    const kinds = ['ws-daemon', 'registry-facade'] as const;
    const setReady = (ready: boolean) =>
      Promise.all(kinds.map((kind) => setPodReady(api(), 'default', firstPod(node, kind), ready)));
    await setReady(true);
    await Promise.all(kinds.map((kind) => node.revive(kind)));
    const fromMs = performance.now();
    await createNode(api(), node.name, { internalIP: node.address });
    // The kubelet renews the token, since a token for the old Node is not valid any more.
    await writeFile(node.tokenFile, await requestAgentToken(api(), node.agentPod ?? { name: '', uid: '' }));
    const leader = await rig.leader();
    const areOld = async () => {
      const { services } = await leader.explain(node.name);
      return services.every(({ reason }) => reason?.includes('is Ready since before the Node was created'));
    };
    await waitFor('the pods not to count', () => areOld().catch(() => false), { timeoutMs: 30_000 });
    const heard = await leader.metric('rollcall_coordinator_reports_total');
    const isHeard = async () => (await leader.metric('rollcall_coordinator_reports_total')) > heard + rig.nodes.length;
    await waitFor('the agents to have been heard since', isHeard, { timeoutMs: 60_000 });
    const { metadata } = await api().get(`/api/v1/nodes/${node.name}`);
    for (const label of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) expect(metadata.labels?.[label]).toBeUndefined();
    // Times have seconds.
    await waitFor('the next second', () => performance.now() - fromMs > 1100);
    await setReady(false);
    await setReady(true);
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    await rig.history.until(node.name, REGISTRY_FACADE_READY, 'true');
  });
});
