import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createNode, createPod, type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { reportCondition, taintsOf } from '../incidents/monitor.ts';
import { ConditionHistory } from './condition-history.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

// Nodes on which no agent can run, such as nodes with Windows, and those of Fargate.

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const WINDOWS = 'windows-1';
const SELECTOR = { matchLabels: { 'kubernetes.io/os': 'windows' } };
const DRIVER = 'driver.example.com';
const GPUS = 'example.com/gpu';
const HEALTH = 'ExampleHealthy';
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
const SLICES = '/apis/resource.k8s.io/v1/resourceslices';

let embedded: EmbeddedRig;
let api: ApiClient;
let history: ConditionHistory;
let uid: string;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [
      `--services-allowed-prefixes=${PREFIXES}`,
      '--stale-after-seconds=12',
      '--startup-gate-requires=on-pods,on-linux',
    ],
    nodes: 2,
    clockSpeed: 4,
  });
  api = embedded.controlPlane.api;
  history = new ConditionHistory(api);
  for (const name of [WINDOWS, 'windows-2', 'windows-3', 'windows-4'])
    await createNode(api, name, { labels: SELECTOR.matchLabels });
  uid = (await api.get<NodeObject>(`/api/v1/nodes/${WINDOWS}`)).metadata.uid ?? '';
  await embedded.rig.allReady();
  await untilAbsent();
});

afterAll(async () => {
  history?.stop();
  await embedded?.stop();
});

const nodesIn = async (state: string) => (await embedded.rig.leader()).metric('rollcall_coordinator_nodes', { state });
/** Waits until as much time has passed as silence needs. */
const untilAbsent = () =>
  waitFor('four nodes without an agent', async () => (await nodesIn('absent')) === 4, { timeoutMs: 30_000 });
const keysOf = (name: string) => ({ label: `example.com/${name}`, condition: `example.com/${name}-ready` });
const taintOf = (name: string) => ({ key: `readiness.k8s.io/${name}`, effect: 'NoSchedule', maxUnavailable: '100%' });
const create = (name: string, check: object) =>
  api.post(
    NODE_SERVICES,
    nodeService(name, {
      nodeSelector: SELECTOR,
      checks: [{ name: 'check', ...check }],
      publish: { ...keysOf(name), taint: taintOf(name) },
    }),
  );

async function isTainted(name: string): Promise<boolean> {
  const { key, effect } = taintOf(name);
  return (await taintsOf(api, WINDOWS)).includes(`${key}:${effect}`);
}

/** Waits until label, taint and condition say that the service is ready on the node, or that it is not. */
async function until(name: string, status: 'True' | 'False' | 'Unknown'): Promise<void> {
  const { label, condition } = keysOf(name);
  const isReady = status === 'True';
  await history.until(WINDOWS, condition, status);
  await embedded.rig.history.until(WINDOWS, label, isReady ? 'true' : undefined, 20_000);
  await waitFor(`the taint of ${name}`, async () => (await isTainted(name)) !== isReady, { timeoutMs: 20_000 });
}

const offer = (amount: string) => {
  const gpus = { [GPUS]: amount };
  return api.patch(`/api/v1/nodes/${WINDOWS}/status`, { status: { capacity: gpus, allocatable: gpus } });
};

const KINDS: readonly [name: string, check: object, pass: () => Promise<unknown>, fail: () => Promise<unknown>][] = [
  [
    'on-pods',
    { pods: { namespace: 'default', selector: { matchLabels: { app: 'driver' } } } },
    () => setPodReady(api, 'default', 'driver', true),
    () => setPodReady(api, 'default', 'driver', false),
  ],
  [
    'on-csi-node',
    { csiNode: { driver: DRIVER } },
    () => {
      const owner = { apiVersion: 'v1', kind: 'Node', name: WINDOWS, uid };
      return api.post(CSI_NODES, {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSINode',
        metadata: { name: WINDOWS, ownerReferences: [owner] },
        spec: { drivers: [{ name: DRIVER, nodeID: WINDOWS, topologyKeys: null }] },
      });
    },
    () => api.delete(`${CSI_NODES}/${WINDOWS}`),
  ],
  [
    'on-condition',
    { condition: { type: HEALTH, missing: 'Fail' } },
    () => reportCondition(api, WINDOWS, { type: HEALTH, status: 'True', reason: 'Well', message: '' }),
    () => reportCondition(api, WINDOWS, { type: HEALTH, status: 'False', reason: 'Ill', message: '' }),
  ],
  ['on-resource', { resource: { name: GPUS, min: 2 } }, () => offer('2'), () => offer('1')],
  [
    'on-dra',
    { dra: { driver: DRIVER } },
    () => {
      const pool = { name: WINDOWS, generation: 1, resourceSliceCount: 1 };
      return api.post(SLICES, {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceSlice',
        metadata: { name: 'gpus' },
        spec: { driver: DRIVER, nodeName: WINDOWS, pool, devices: [{ name: 'gpu-0' }] },
      });
    },
    () => api.delete(`${SLICES}/gpus`),
  ],
];
const LABELS = KINDS.map(([name]) => keysOf(name).label);

test.each(KINDS)(
  '%s: label, taint and condition follow on a node without an agent',
  async (name, check, pass, fail) => {
    if (name === 'on-pods') {
      const spec = { tolerations: [{ operator: 'Exists' }] };
      const labels = { app: 'driver' };
      await createPod(api, { namespace: 'default', name: 'driver', nodeName: WINDOWS, labels, spec });
    }
    await create(name, check);
    await until(name, 'False');
    await pass();
    await until(name, 'True');
    await fail();
    await until(name, 'False');
    await pass();
    await until(name, 'True');
  },
);

test('silence takes none of them away, under a new leader neither', async () => {
  const { rig } = embedded;
  const fromMs = performance.now();
  await rig.endCoordinator(await rig.leader(), 'SIGKILL');
  await rig.addCoordinator();
  await rig.leader();
  await untilAbsent();
  for (const label of LABELS) expect(rig.history.since(fromMs, label, WINDOWS)).toEqual([]);
  for (const [name] of KINDS) expect(history.since(fromMs, keysOf(name).condition, WINDOWS)).toEqual([]);
});

test('a check that only an agent can see says that there is none, and the condition is Unknown', async () => {
  await create('on-port', { tcp: { port: 80 } });
  await until('on-port', 'Unknown');
  const said = 'no agent is on the node, and none has reported';
  expect(history.of(WINDOWS, keysOf('on-port').condition)?.message).toContain(said);
  const { services } = await (await embedded.rig.leader()).explain(WINDOWS);
  expect(services.find(({ name }) => name === 'on-port')?.reason).toBe(said);
});

test('beside another check in anyOf it does no harm', async () => {
  const anyOf = [
    { name: 'port', tcp: { port: 80 } },
    { name: 'offered', resource: { name: GPUS, min: 2 } },
  ];
  await create('on-either', { anyOf });
  await until('on-either', 'True');
  await offer('1');
  await until('on-either', 'Unknown');
  await offer('2');
  await until('on-either', 'True');
});

test('the startup gate waits for the services of the node, and not for those that only other nodes have', async () => {
  const isGated = async () => (await taintsOf(api, 'windows-5')).includes(`${STARTUP_TAINT}:NoSchedule`);
  const linux = { matchLabels: { 'kubernetes.io/os': 'linux' } };
  await api.post(
    NODE_SERVICES,
    nodeService('on-linux', { nodeSelector: linux, checks: [{ name: 'port', tcp: { port: 80 } }] }),
  );
  const taints = [{ key: STARTUP_TAINT, effect: 'NoSchedule' }] as const;
  await createNode(api, 'windows-5', { labels: SELECTOR.matchLabels, taints });
  const leader = await embedded.rig.leader();
  await waitFor('the gate to wait', async () => {
    const { keys } = await leader.explain('windows-5');
    return keys.some(({ key, reason }) => key === STARTUP_TAINT && reason.startsWith('waits for the service on-pods,'));
  });
  expect(await isGated()).toBe(true);
  const spec = { tolerations: [{ operator: 'Exists' }] };
  const labels = { app: 'driver' };
  await createPod(api, { namespace: 'default', name: 'driver-5', nodeName: 'windows-5', labels, spec, ready: true });
  await waitFor('the gate to open', async () => !(await isGated()), { timeoutMs: 20_000 });
  await api.delete('/api/v1/nodes/windows-5');
});

test('nodes without an agent count in no guard: one silent agent of two costs its node the label', async () => {
  const { rig } = embedded;
  const node = rig.node(0);
  const leader = await rig.leader();
  await rig.allReady();
  expect(await nodesIn('silent')).toBe(0);
  await node.agent?.kill('SIGSTOP');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined, 30_000);
  expect((await leader.explain(node.name)).replica.guards).toEqual([]);
  await node.agent?.kill('SIGCONT');
});
