import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import {
  FACADE_TAINT,
  hasBothLabels,
  isOpen,
  type NodeState,
  NodeStates,
  taintKeys,
  WORKSPACE_NODE,
  WS_TAINT,
} from './node-states.ts';
import { addServicePod, firstPod, forceDelete, terminate } from './service-pods.ts';

let embedded: EmbeddedRig;
let rig: Rig;
let states: NodeStates;
let node: SimulatedNode;
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 0,
    coordinatorArgs: ['--readiness-gate=taint', '--stale-after-seconds=6'],
  });
  rig = embedded.rig;
  states = new NodeStates(embedded.controlPlane.api);
});
afterAll(async () => {
  states?.stop();
  await embedded?.stop();
});

const api = () => embedded.controlPlane.api;
const isTaintedWith = (keys: string[]) => (state: NodeState) => taintKeys(state).join() === keys.join();

/** States in which a scheduler would take the node for ready. */
function openStates(name: string): NodeState[] {
  return states.of(name).filter((state) => isOpen(state, 'ws-daemon') || isOpen(state, 'registry-facade'));
}

async function setWorkload(name: string, value: string | null): Promise<void> {
  await api().patch(`/api/v1/nodes/${name}`, {
    metadata: { labels: { 'gitpod.io/workload_workspace_headless': value } },
  });
}

describe('a workspace node', () => {
  test('H1: without pods has both labels and both taints, and at no moment a label without its taint', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `bare-${index}`);
    // The kubelet is not up yet, so no component removes the API server's own taint in between.
    await Promise.all(names.map((name) => createNode(api(), name, { labels: WORKSPACE_NODE, ready: false })));
    const ofKubernetes = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    const ours = [WS_TAINT, FACADE_TAINT].map((key) => ({ key, value: 'true', effect: 'NoSchedule' }));
    for (const name of names) {
      const { taints } = await states.until(name, 'to have both labels', hasBothLabels);
      expect(taints).toEqual([ofKubernetes, ...ours]);
      expect(openStates(name)).toEqual([]);
    }
  });

  test('H2: whose services become ready loses both taints, and keeps the labels', async () => {
    node = await rig.addNode();
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), false);
    await api().patch(`/api/v1/nodes/${node.name}`, { metadata: { labels: WORKSPACE_NODE } });
    await states.until(node.name, 'to have labels, and the taint', (state) => {
      return hasBothLabels(state) && isTaintedWith([WS_TAINT])(state);
    });
    expect(states.of(node.name).some((state) => isOpen(state, 'ws-daemon'))).toBe(false);
    const since = states.mark(node.name);
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), true);
    await states.until(node.name, 'to have no taint', isTaintedWith([]));
    expect(since().every(hasBothLabels)).toBe(true);
  });

  test('H3: gets the taint of the service alone that is not ready, by one PATCH, and loses it by one', async () => {
    const patches = await embedded.nodePatches();
    const since = states.mark(node.name);
    await node.kill('ws-daemon');
    await states.until(node.name, 'to have the taint', isTaintedWith([WS_TAINT]));
    await node.revive('ws-daemon');
    await states.until(node.name, 'to have no taint', isTaintedWith([]));
    expect(since().every(hasBothLabels)).toBe(true);
    expect(await embedded.nodePatches()).toBe(patches + 2);
  });

  test('H4: gets the taint when its last good pod is terminating, and not before', async () => {
    const since = states.mark(node.name);
    await addServicePod(api(), node, 'ws-daemon', 'second');
    await terminate(api(), firstPod(node, 'ws-daemon'));
    const pods = async () => (await (await rig.leader()).explain(node.name)).services[0]?.pods;
    await waitFor('the deletion to be seen', async () => (await pods())?.some(({ terminating }) => terminating));
    expect(since().flatMap(taintKeys)).toEqual([]);
    await terminate(api(), 'second');
    await states.until(node.name, 'to have the taint', isTaintedWith([WS_TAINT]));
    await forceDelete(api(), firstPod(node, 'ws-daemon'));
    await addServicePod(api(), node, 'ws-daemon', firstPod(node, 'ws-daemon'));
    await states.until(node.name, 'to have no taint', isTaintedWith([]));
    await forceDelete(api(), 'second');
  });

  test('H5: with our key and another effect counts as tainted; all of the key go, the others stay in order', async () => {
    const foreign = [
      { key: 'example.com/first', value: 'x', effect: 'NoSchedule' },
      { key: 'example.com/last', effect: 'PreferNoSchedule' },
    ];
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), false);
    await states.until(node.name, 'to have the taint', isTaintedWith([WS_TAINT]));
    const taints = [foreign[0], { key: WS_TAINT, value: 'true', effect: 'NoExecute' }, foreign[1]];
    await api().patch(`/api/v1/nodes/${node.name}`, { spec: { taints } });
    const patches = await embedded.nodePatches();
    // That it is left alone shows by the next change, which comes by way of the same plan.
    await node.kill('registry-facade');
    const state = await states.until(node.name, 'the other taint', (each) => taintKeys(each).includes(FACADE_TAINT));
    expect(state.taints).toEqual([...taints, { key: FACADE_TAINT, value: 'true', effect: 'NoSchedule' }]);
    await setPodReady(api(), 'default', firstPod(node, 'ws-daemon'), true);
    await states.until(node.name, 'to lose all of the key', (each) => !taintKeys(each).includes(WS_TAINT));
    await node.revive('registry-facade');
    const end = await states.until(node.name, 'to lose the other', (each) => !taintKeys(each).includes(FACADE_TAINT));
    expect(end.taints).toEqual(foreign);
    expect(await embedded.nodePatches()).toBe(patches + 3);
  });

  test('becomes one when it gets its workload label later, and is none any more without it', async () => {
    await createNode(api(), 'late');
    await states.until('late', 'to be there', () => true);
    await setWorkload('late', 'whatever');
    await states.until('late', 'to have all', (state) => hasBothLabels(state) && state.taints.length === 2);
    expect(openStates('late')).toEqual([]);
    await setWorkload('late', null);
    await states.until('late', 'to have nothing', ({ labels, taints }) => {
      return taints.length === 0 && !(WS_DAEMON_READY in labels) && !(REGISTRY_FACADE_READY in labels);
    });
  });
});

test('H6: a node that is not for workspaces gets no label and no taint, whatever its pods and services say', async () => {
  const plain = await rig.addNode();
  const shown = async () => (await (await rig.leader()).explain(plain.name)).services.map(({ state }) => state);
  await expect.poll(shown, { timeout: 10_000 }).toEqual(['ready', 'ready']);
  await plain.kill('ws-daemon');
  await expect.poll(shown).toEqual(['not-ready', 'ready']);
  const document = await (await rig.leader()).explain(plain.name);
  expect(document.pending).toBeUndefined();
  expect(document.keys.find(({ key }) => key === WS_TAINT)).toMatchObject({ stance: 'absent' });
  for (const state of states.of(plain.name)) {
    expect(taintKeys(state).filter((key) => key.startsWith('gitpod.io/'))).toEqual([]);
    expect(state.labels).not.toHaveProperty([WS_DAEMON_READY]);
  }
});

describe('at its election, a leader', () => {
  test('H7: finds every workspace node wrong, and leaves every one right', async () => {
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    const names = Array.from({ length: 10 }, (_, index) => `bare-${index}`);
    await Promise.all(
      names.map((name, index) => {
        const labels = { [WS_DAEMON_READY]: null, [REGISTRY_FACADE_READY]: index % 2 ? 'false' : null };
        return api().patch(`/api/v1/nodes/${name}`, { metadata: { labels }, spec: { taints: null } });
      }),
    );
    const stale = [{ key: WS_TAINT, value: 'true', effect: 'NoSchedule' }];
    await api().patch(`/api/v1/nodes/${node.name}`, { spec: { taints: stale } });
    await rig.addCoordinator();
    for (const name of names) {
      await states.until(name, 'to be right', (state) => hasBothLabels(state) && state.taints.length === 2);
    }
    await states.until(node.name, 'to lose the stale taint', (state) => state.taints.length === 0);
  });

  test('H9: is not ended by a list of nodes that fails: it tries again', async () => {
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
    const { metadata, ...binding } = await api().get<KubeObject>(`${bindings}/rollcall-coordinator`);
    await api().delete(`${bindings}/${metadata.name}`);
    const coordinator = await rig.addCoordinator();
    await waitFor('a list to fail', () => coordinator.logs.some(({ level, err }) => level === 'warn' && err), {
      timeoutMs: 15_000,
    });
    await createNode(api(), 'meanwhile', { labels: WORKSPACE_NODE });
    await api().post(bindings, { ...binding, metadata: { name: metadata.name } });
    await states.until('meanwhile', 'to be right', (state) => hasBothLabels(state) && state.taints.length === 2);
    expect(openStates('meanwhile')).toEqual([]);
    expect(await rig.leader()).toBe(coordinator);
  });
});
