import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { FACADE_TAINT, hasBothLabels, isOpen, NodeStates, taintKeys, WORKSPACE_NODE, WS_TAINT } from './node-states.ts';
import { addServicePod, firstPod, forceDelete } from './service-pods.ts';

const LABELS = { [WS_DAEMON_READY]: 'true', [REGISTRY_FACADE_READY]: 'true' };
const SCALE_DOWN_DISABLED = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
const FOREIGN = { key: 'example.com/dedicated', value: 'db', effect: 'NoSchedule' } as const;
const SERVICES = ['ws-daemon', 'registry-facade'] as const;

let embedded: EmbeddedRig;
let rig: Rig;
let states: NodeStates;
/** Their services answer, and their pods are Ready. */
let ready: [SimulatedNode, SimulatedNode];
/** Its pod is Ready, and its ws-daemon is dead. */
let dead: SimulatedNode;
beforeAll(async () => {
  // Longer than the 10 s that agents may wait between two attempts to reach a coordinator.
  embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: ['--stale-after-seconds=12'], clockSpeed: 4 });
  rig = embedded.rig;
  states = new NodeStates(embedded.controlPlane.api);
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  const add = () => rig.addNode({ labels: WORKSPACE_NODE });
  ready = [await add(), await add()];
  dead = await add();
  await dead.kill('ws-daemon');
  await createNode(api(), 'bare', { labels: WORKSPACE_NODE });
  // Pods that say that they are Ready, and no agent that could tell.
  await createNode(api(), 'mute', { labels: WORKSPACE_NODE });
  for (const service of SERVICES) {
    await addServicePod(
      api(),
      { name: 'mute', address: '127.0.0.1', podAddress: '127.0.0.1' },
      service,
      `${service}-mute`,
    );
  }
});
afterAll(async () => {
  states?.stop();
  await embedded?.stop();
});

const api = () => embedded.controlPlane.api;

type Left = { labels?: Record<string, string>; annotations?: Record<string, string>; taints?: readonly string[] };

/** Leaves a Node as the predecessor does: by PUT of the whole object, under its own field manager. */
async function leave(name: string, { labels = {}, annotations = {}, taints = [] }: Left): Promise<void> {
  const resource = `/api/v1/nodes/${name}`;
  const node = await api().get<NodeObject>(resource);
  const { metadata } = node;
  const ours = taints.map((key) => ({ key, value: 'true', effect: 'NoSchedule' }));
  await api().put(`${resource}?fieldManager=node-labeler`, {
    ...node,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...labels },
      annotations: { ...metadata.annotations, ...annotations },
    },
    spec: { ...node.spec, taints: [FOREIGN, ...ours] },
  });
  const managed = await api().get<NodeObject>(resource);
  expect(JSON.stringify(managed.metadata['managedFields'])).toContain('"manager":"node-labeler","operation":"Update"');
}

/** Takes over, and returns all states of the Nodes since. */
async function takeOver(gate: 'label' | 'taint'): Promise<(name: string) => ReturnType<NodeStates['of']>> {
  const names = [...rig.nodes.map(({ name }) => name), 'bare', 'mute'];
  const marks = new Map(names.map((name) => [name, states.mark(name)]));
  await rig.addCoordinator([`--readiness-gate=${gate}`]);
  return (name) => marks.get(name)?.() ?? [];
}

async function untilTaken(name: string, isSo: (taints: readonly string[]) => boolean): Promise<void> {
  await states.until(name, 'to be taken over', (state) => isSo(taintKeys(state)));
  const pending = async () => (await (await rig.leader()).explain(name)).pending;
  await expect.poll(pending, { timeout: 10_000 }).toBeUndefined();
}

describe('from the predecessor that labels, with the gate label', () => {
  let since: Awaited<ReturnType<typeof takeOver>>;
  beforeAll(async () => {
    const annotations = { [SCALE_DOWN_DISABLED]: 'true' };
    for (const name of [...rig.nodes.map((node) => node.name), 'bare', 'mute']) {
      await leave(name, { labels: LABELS, ...(name === 'bare' ? { annotations } : {}) });
    }
    await api().patch(`/api/v1/nodes/mute`, { metadata: { annotations } });
    since = await takeOver('label');
  });

  test('labels that are right stay, at every moment', async () => {
    for (const { name } of ready) {
      const managers = async () => JSON.stringify((await api().get(`/api/v1/nodes/${name}`)).metadata['managedFields']);
      await expect.poll(managers, { timeout: 10_000 }).toContain('"manager":"rollcall","operation":"Apply"');
      expect(since(name).every(hasBothLabels)).toBe(true);
    }
  });

  test('labels of a dead service, of nodes without pods, and of nodes without an agent go', async () => {
    await states.until(dead.name, 'to lose the label', ({ labels }) => !(WS_DAEMON_READY in labels));
    expect(since(dead.name).every(({ labels }) => REGISTRY_FACADE_READY in labels)).toBe(true);
    for (const name of ['bare', 'mute']) {
      await states.until(name, 'to lose both labels', ({ labels }) =>
        SERVICES.every((service) => !(`gitpod.io/${service}_ready_ns_default` in labels)),
      );
    }
  });

  test('the label of a pod that goes afterwards goes as well', async () => {
    const [, node] = ready;
    await forceDelete(api(), firstPod(node, 'ws-daemon'));
    await states.until(node.name, 'to lose the label', ({ labels }) => !(WS_DAEMON_READY in labels));
    await addServicePod(api(), node, 'ws-daemon', firstPod(node, 'ws-daemon'));
    await states.until(node.name, 'to be ready', hasBothLabels);
  });

  test('its hold on a node without workspaces goes, and the hold of a person stays', async () => {
    await states.until('bare', 'to lose the annotation', ({ annotations }) => !(SCALE_DOWN_DISABLED in annotations));
    expect(states.last('mute')?.annotations).toHaveProperty([SCALE_DOWN_DISABLED], 'true');
    expect(states.last('bare')?.taints).toEqual([FOREIGN]);
  });
});

/** Leaves taints as the tainting predecessor does, if it has not run for a while. */
async function leaveTaints(): Promise<void> {
  await rig.prune();
  await leave(ready[0].name, { labels: LABELS });
  await leave(ready[1].name, { labels: LABELS, taints: [WS_TAINT] });
  await leave(dead.name, { labels: LABELS, taints: [WS_TAINT, FACADE_TAINT] });
  await leave('bare', { labels: LABELS, taints: [FACADE_TAINT] });
  await leave('mute', { labels: LABELS, taints: [WS_TAINT] });
}

test('from the predecessor that taints, with the gate taint: no flap, and what is stale or missing is mended', async () => {
  await leaveTaints();
  const since = await takeOver('taint');
  await untilTaken(ready[1].name, (taints) => taints.length === 1);
  await untilTaken(dead.name, (taints) => taints.join() === [FOREIGN.key, WS_TAINT].join());
  await untilTaken('bare', (taints) => taints.join() === [FOREIGN.key, FACADE_TAINT, WS_TAINT].join());
  expect(since(ready[0].name).every((state) => SERVICES.every((service) => isOpen(state, service)))).toBe(true);
  for (const name of [dead.name, 'mute']) {
    expect(since(name).some((state) => isOpen(state, 'ws-daemon'))).toBe(false);
  }
  expect(since('bare').some((state) => isOpen(state, 'registry-facade'))).toBe(false);
  for (const { name } of rig.nodes) expect(since(name).every(hasBothLabels)).toBe(true);
});

test('from the predecessor that taints, with the gate label: labels tell the truth before stale taints go', async () => {
  await leaveTaints();
  const since = await takeOver('label');
  const noneLeft = (taints: readonly string[]) => taints.join() === FOREIGN.key;
  for (const name of [...rig.nodes.map((node) => node.name), 'bare', 'mute']) await untilTaken(name, noneLeft);
  for (const { name } of ready) {
    expect(since(name).every(hasBothLabels)).toBe(true);
  }
  for (const name of [dead.name, 'mute']) {
    expect(since(name).some((state) => isOpen(state, 'ws-daemon'))).toBe(false);
    await states.until(name, 'to lose the label', ({ labels }) => !(WS_DAEMON_READY in labels));
  }
  await states.until('bare', 'to lose both labels', ({ labels }) => !Object.keys(LABELS).some((key) => key in labels));
});

describe('in the place of the predecessor', () => {
  test('its flags are understood, in every form', async () => {
    const flags = ['-v', '-j=false', '--namespace=gitpod', '--registry-facade-port=31751', '--ws-daemon-port', '8081'];
    const main = path.resolve(import.meta.dirname, '../../../coordinator/dist/main.js');
    const args = [main, 'run', ...flags, `--kubeconfig=${rig.cluster.coordinatorKubeconfig}`, '--print-config'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const ports = { wsDaemonPort: 8081, registryFacadePort: 31751 };
    expect(JSON.parse(stdout)).toMatchObject({ namespace: 'gitpod', verbose: true, jsonLog: false, ...ports });
  });

  test('its health checks are answered, by a leader and by a standby', async () => {
    const standby = await rig.addCoordinator();
    await standby.ready();
    for (const coordinator of [await rig.leader(), standby]) {
      expect(await coordinator.get('/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
      expect(await coordinator.get('/readyz')).toMatchObject({ status: 200, body: 'ok\n' });
      const verbose = await coordinator.get('/healthz?verbose');
      expect(verbose.body).toMatch(/^\[\+\]main-loop ok\n.*healthz check passed\n$/s);
      expect((await coordinator.get('/readyz?verbose')).body).toMatch(/^\[\+\]caches ok\n.*readyz check passed\n$/s);
      expect((await coordinator.get('/healthz/main-loop')).status).toBe(200);
      expect((await coordinator.get('/healthz/nothing')).status).toBe(404);
      expect((await coordinator.get('/metrics')).body).toContain('# TYPE gitpod_node_labeler_ready_seconds histogram');
    }
  });
});
