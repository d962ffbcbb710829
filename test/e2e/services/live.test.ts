import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createPod } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService, statusOf } from './node-services.ts';

const MIRROR = 'example.com/mirror';
const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const TAINT = 'readiness.k8s.io/mirror';

let embedded: EmbeddedRig;
let node: SimulatedNode;
let port: number;
let mirror: StandIn;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`],
    nodes: 1,
  });
  port = await freePort();
  node = embedded.rig.node(0);
  await startMirror();
  await embedded.rig.allReady();
});

afterAll(async () => {
  await mirror?.stop();
  await embedded?.stop();
});

async function startMirror(): Promise<void> {
  mirror = await startStandIn('http-service', { host: node.address, port });
}

function create(name: string, spec: object): Promise<unknown> {
  return embedded.controlPlane.api.post(NODE_SERVICES, nodeService(name, spec));
}

const remove = (name: string) => embedded.controlPlane.api.delete(`${NODE_SERVICES}/${name}`);
const probed = () => ({ checks: [{ name: 'port', http: { port, path: '/healthz' }, period: '200ms' }] });

type NodeView = {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: { taints?: { key: string; effect: string }[] };
};

async function view(): Promise<NodeView> {
  return (await embedded.controlPlane.api.get(`/api/v1/nodes/${node.name}`)) as unknown as NodeView;
}

const hasTaint = async (key = TAINT) => (await view()).spec.taints?.some((each) => each.key === key) === true;
const label = async (key = MIRROR) => (await view()).metadata.labels[key];
const soon = (what: string, isSo: () => Promise<boolean>) => waitFor(what, isSo, { timeoutMs: 30_000 });

describe('a NodeService', () => {
  test('of a few lines labels the nodes on which it is ready, at once when it is gone, and until it is deleted', async () => {
    await create('mirror', { ...probed(), publish: { label: MIRROR } });
    await soon('the label', async () => (await label()) === 'true');
    await soon('the status', async () => (await statusOf(embedded.controlPlane.api, 'mirror')).nodes?.ready === 1);
    expect(await conditionOf(embedded.controlPlane.api, 'mirror', 'Ready')).toBe(
      'True InForce: Its checks decide about its keys',
    );
    expect(await conditionOf(embedded.controlPlane.api, 'mirror', 'NodesReady')).toBe(
      'True AllNodesReady: Ready on 1 of 1 nodes',
    );

    await embedded.rig.history.until(node.name, MIRROR, 'true');
    const killedMs = performance.now();
    await mirror.kill('SIGKILL');
    await embedded.rig.history.until(node.name, MIRROR, undefined);
    expect((embedded.rig.history.since(killedMs, MIRROR)[0]?.atMs ?? Number.POSITIVE_INFINITY) - killedMs).toBeLessThan(
      1000,
    );
    await soon('the status', async () => (await statusOf(embedded.controlPlane.api, 'mirror')).nodes?.notReady === 1);

    await startMirror();
    await embedded.rig.history.until(node.name, MIRROR, 'true');
    await remove('mirror');
    await embedded.rig.history.until(node.name, MIRROR, undefined);
  });

  test('without publish has a label of its own name', async () => {
    await create('plain', { ...probed() });
    await soon('the label', async () => (await label('service.rollcall.dev/plain')) === 'true');
    await remove('plain');
    await soon('its end', async () => (await label('service.rollcall.dev/plain')) === undefined);
  });

  test('taints the nodes on which it is not ready, and leaves none when it is deleted', async () => {
    await mirror.kill('SIGKILL');
    await create('tainting', { ...probed(), publish: { taint: { key: TAINT, value: 'x', effect: 'NoSchedule' } } });
    await soon('the taint', () => hasTaint());
    await startMirror();
    await soon('its end', async () => !(await hasTaint()));
    await mirror.kill('SIGKILL');
    await soon('the taint', () => hasTaint());
    await remove('tainting');
    await soon('its end', async () => !(await hasTaint()));
    await startMirror();
  });

  test('that is deleted while no coordinator runs leaves nothing', async () => {
    await create('brief', {
      ...probed(),
      publish: { label: MIRROR, taint: { key: TAINT, value: '', effect: 'NoSchedule' } },
    });
    await soon('the label', async () => (await label()) === 'true');
    await mirror.kill('SIGKILL');
    await soon('the taint', () => hasTaint());
    await startMirror();
    await soon('the label', async () => (await label()) === 'true');
    await mirror.kill('SIGKILL');
    await soon('the taint', () => hasTaint());
    const { rig } = embedded;
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    await remove('brief');
    await rig.addCoordinator();
    await soon('its end', async () => !(await hasTaint()) && (await label()) === undefined);
    await startMirror();
  });

  test('of mode Startup is evaluated until it is ready once, and then left', async () => {
    await create('starting', {
      ...probed(),
      mode: 'Startup',
      publish: { label: MIRROR, taint: { key: TAINT, value: '', effect: 'NoSchedule' } },
    });
    await soon('the label', async () => (await label()) === 'true' && !(await hasTaint()));
    await soon(
      'the note',
      async () => (await view()).metadata.annotations['rollcall.dev/services-started']?.includes('starting') === true,
    );
    const fromMs = performance.now();
    await mirror.kill('SIGKILL');
    await soon('the agent to ask no more', async () => {
      const { services } = await (await embedded.rig.leader()).explain(node.name);
      return (
        services.find(({ name }) => name === 'starting')?.reason?.startsWith('it was ready on the node once') === true
      );
    });
    expect(embedded.rig.history.since(fromMs, MIRROR)).toEqual([]);
    await remove('starting');
    await soon('its end', async () => (await label()) === undefined);
    await soon(
      'the end of the note',
      async () => (await view()).metadata.annotations['rollcall.dev/services-started'] === undefined,
    );
    await startMirror();
  });

  test('is for the nodes that its selector selects, as they are', async () => {
    const { controlPlane } = embedded;
    await create('selective', { nodeSelector: { matchLabels: { tier: 'gold' } }, ...probed() });
    await soon('the status', async () => (await statusOf(controlPlane.api, 'selective')).nodes?.selected === 0);
    expect(await label('service.rollcall.dev/selective')).toBeUndefined();
    await controlPlane.kubectl(['label', 'node', node.name, 'tier=gold']);
    await soon('the label', async () => (await label('service.rollcall.dev/selective')) === 'true');
    await controlPlane.kubectl(['label', 'node', node.name, 'tier-']);
    await soon('its end', async () => (await label('service.rollcall.dev/selective')) === undefined);
    await remove('selective');
  });

  test('with a CSI driver depends on the CSINode of this very Node', async () => {
    const { api } = embedded.controlPlane;
    await create('csi', { checks: [{ name: 'registered', csiNode: { driver: 'ebs.csi.aws.com' } }] });
    const { metadata } = (await view()) as unknown as { metadata: { uid: string } };
    const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'Node', name: node.name, uid });
    const csiNode = (uid: string) => ({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: node.name, ownerReferences: [owner(uid)] },
      spec: { drivers: [{ name: 'ebs.csi.aws.com', nodeID: node.name, topologyKeys: null }] },
    });
    const path = '/apis/storage.k8s.io/v1/csinodes';
    await api.post(path, csiNode(metadata.uid));
    await soon('the label', async () => (await label('service.rollcall.dev/csi')) === 'true');
    await api.delete(`${path}/${node.name}`);
    await soon('its end', async () => (await label('service.rollcall.dev/csi')) === undefined);
    await api.post(path, csiNode('0b5b5b5b-0000-4000-8000-000000000000'));
    const explained = async () => {
      const { services } = await (await embedded.rig.leader()).explain(node.name);
      return services.find(({ name }) => name === 'csi');
    };
    const reason = 'the CSINode belongs to an earlier Node of this name';
    await soon('the reason', async () => (await explained())?.reason === reason);
    expect((await explained())?.checks).toEqual([
      { name: 'registered', state: 'not-ready', reason, cause: 'evidence' },
    ]);
    expect(await label('service.rollcall.dev/csi')).toBeUndefined();
    await remove('csi');
  });

  test('depends on what the node offers, and sees it also where it is created later', async () => {
    const { api } = embedded.controlPlane;
    const offer = (amount: string) =>
      api.patch(`/api/v1/nodes/${node.name}/status`, {
        status: { capacity: { 'example.com/gpu': amount }, allocatable: { 'example.com/gpu': amount } },
      });
    await offer('1');
    const resource = { name: 'example.com/gpu', min: 2 };
    await create('offered', { checks: [{ name: 'gpus', resource }] });
    await soon('the status', async () => (await statusOf(api, 'offered')).nodes?.notReady === 1);
    await offer('2');
    await soon('the label', async () => (await label('service.rollcall.dev/offered')) === 'true');
    await offer('0');
    await soon('its end', async () => (await label('service.rollcall.dev/offered')) === undefined);
    await remove('offered');
  });

  test('depends on DRA devices that no taint keeps pods off', async () => {
    const { api } = embedded.controlPlane;
    const path = '/apis/resource.k8s.io/v1/resourceslices';
    const write = (tainted: boolean) => ({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: 'gpus' },
      spec: {
        driver: 'gpu.example.com',
        nodeName: node.name,
        pool: { name: node.name, generation: 1, resourceSliceCount: 1 },
        devices: [
          { name: 'gpu-0', ...(tainted ? { taints: [{ key: 'example.com/broken', effect: 'NoSchedule' }] } : {}) },
        ],
      },
    });
    await create('dra', { checks: [{ name: 'gpus', dra: { driver: 'gpu.example.com' } }] });
    await soon('the status', async () => (await statusOf(api, 'dra')).nodes?.notReady === 1);
    await api.post(path, write(false));
    await soon('the label', async () => (await label('service.rollcall.dev/dra')) === 'true');
    const { spec } = await api.patch<ReturnType<typeof write>>(`${path}/gpus`, { spec: write(true).spec });
    const isTainted = spec.devices.some((device) => 'taints' in device);
    const { minor } = await api.get<KubeObject & { minor: string }>('/version');
    // Kubernetes 1.34 has no taints of devices unless a feature gate is on, and drops them.
    if (Number(minor) >= 37) expect(isTainted).toBe(true);
    if (!isTainted) await api.patch(`${path}/gpus`, { spec: { devices: [] } });
    await soon('its end', async () => (await label('service.rollcall.dev/dra')) === undefined);
    await remove('dra');
    await api.delete(`${path}/gpus`);
  });

  test('depends on the pod of its DaemonSet, beside which a bare pod does not count', async () => {
    const pods = { namespace: 'default', selector: { matchLabels: { app: 'driver' } } };
    const pod = (name: string, ready: boolean, owners: object[] = []) =>
      createPod(embedded.controlPlane.api, {
        namespace: 'default',
        name,
        nodeName: node.name,
        labels: { app: 'driver' },
        ready,
        owners,
      });
    await create('driver', { checks: [{ name: 'pod', pods }], publish: { label: 'example.com/driver' } });
    await pod('bare', true);
    await soon('the label', async () => (await label('example.com/driver')) === 'true');
    const uid = '0b5b5b5b-0000-4000-8000-000000000000';
    await pod('owned', false, [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'driver', uid, controller: true }]);
    await soon('its end', async () => (await label('example.com/driver')) === undefined);
    await remove('driver');
  });
});

describe('a NodeService that is not in force says why', () => {
  const accepted = (name: string) => conditionOf(embedded.controlPlane.api, name, 'Ready');
  const refused = (name: string, reason: RegExp) =>
    soon(`the refusal of ${name}`, async () => reason.test(await accepted(name)));

  test('for a key that another publishes, until that is gone', async () => {
    await create('first', { ...probed(), publish: { label: MIRROR } });
    await soon('its acceptance', async () => (await accepted('first')).startsWith('True'));
    await create('second', { ...probed(), publish: { label: MIRROR } });
    await refused('second', /^False KeyTaken: The label example\.com\/mirror already belongs to the NodeService first/);
    await remove('first');
    await soon('its acceptance', async () => (await accepted('second')).startsWith('True'));
    await remove('second');
  });

  test.each<[string, object, RegExp]>([
    [
      'pool',
      { publish: { label: 'karpenter.sh/nodepool' } },
      /KeyRefused: The label karpenter\.sh\/nodepool names the pool of a node/,
    ],
    [
      'gitpods',
      { publish: { label: 'gitpod.io/ws-daemon_ready_ns_default' } },
      /KeyRefused: .* belongs to the service ws-daemon of Gitpod/,
    ],
    [
      'gate',
      { publish: { taint: { key: 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall', effect: 'NoSchedule' } } },
      /KeyRefused/,
    ],
    [
      'outside',
      { publish: { label: 'example.org/a' } },
      /PrefixNotAllowed: .* add example\.org\/ to --services-allowed-prefixes/,
    ],
    [
      'condition',
      { publish: { condition: 'StorageReady' } },
      /KeyRefused: The condition StorageReady makes Karpenter replace nodes/,
    ],
    [
      'condition-outside',
      { publish: { condition: 'readiness.k8s.io/A' } },
      /PrefixNotAllowed: .* is for taints only, choose another/,
    ],
    ['circle', { nodeSelector: { matchLabels: { 'service.rollcall.dev/circle': 'true' } } }, /SelectsByService/],
    ['ws-daemon', {}, /NameTaken: ws-daemon is the name of a service of Gitpod/],
  ])('as %s', async (name, spec, reason) => {
    await create(name, { ...probed(), ...spec });
    await refused(name, reason);
    await remove(name);
  });
});

test('--gitpod=false leaves nothing of Gitpod, and NodeServices as they are', async () => {
  const { rig } = embedded;
  await create('mirror', { ...probed(), publish: { label: MIRROR } });
  await soon('the label', async () => (await label()) === 'true');
  const fromMs = performance.now();
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  const coordinator = await rig.addCoordinator(['--gitpod=false']);
  for (const gone of [WS_DAEMON_READY, REGISTRY_FACADE_READY]) await rig.history.until(node.name, gone, undefined);
  await soon('the agent to ask for the mirror alone', async () => {
    const { services } = await coordinator.explain(node.name);
    return services.length === 1 && services[0]?.state === 'ready';
  });
  expect(rig.history.since(fromMs, MIRROR)).toEqual([]);
});
