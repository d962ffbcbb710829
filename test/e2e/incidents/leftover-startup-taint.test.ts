// A NodeService that publishes the startup taint of a driver removes it as soon as the driver serves, whoever added it
// and however often; a node on which the driver never serves keeps it, and is named after `startupDeadline` by the
// published condition, an Event and a metric, but not replaced.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import { createNode, createPod, type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { ConditionHistory } from '../services/condition-history.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from '../services/node-services.ts';
import { taintsOf } from './monitor.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/', 'efs.csi.aws.com/'];
const DRIVER = 'efs.csi.aws.com';
const KEY = 'efs.csi.aws.com/agent-not-ready';
/** As Karpenter's NodePool gives it to new nodes, and as the driver ought to remove it once. */
const REGISTERED = { key: KEY, effect: 'NoExecute' } as const;
const READY = 'example.com/EFSReady';
const DEADLINE_MS = 4000;

let embedded: EmbeddedRig;
let api: ApiClient;
let history: ConditionHistory;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`, '--gitpod=false'],
    nodes: 0,
  });
  api = embedded.controlPlane.api;
  history = new ConditionHistory(api);
  await api.post(
    NODE_SERVICES,
    nodeService('efs-csi', {
      checks: [
        { name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'efs-csi-node' } } } },
        { name: 'registered', csiNode: { driver: DRIVER } },
      ],
      startupDeadline: `${DEADLINE_MS}ms`,
      publish: { condition: READY, taint: { key: KEY, effect: 'NoSchedule' } },
    }),
  );
  const accepted = () => conditionOf(api, 'efs-csi', 'Ready');
  await waitFor('it to be in force', async () => (await accepted()).startsWith('True'), { timeoutMs: 30_000 });
});

afterAll(async () => {
  history?.stop();
  await embedded?.stop();
});

const podOn = (node: string) => `efs-csi-node-${node}`;

/** A new node with its startup taint, and the driver's pod, which never removes it. */
async function newNode(name: string): Promise<NodeObject> {
  const node = await createNode(api, name, { taints: [REGISTERED] });
  const spec = { tolerations: [{ operator: 'Exists' }] };
  const labels = { app: 'efs-csi-node' };
  await createPod(api, { namespace: 'default', name: podOn(name), nodeName: name, labels, spec });
  return node;
}

/** The driver registers with the kubelet, and serves. */
async function serve({ metadata: { name, uid = '' } }: NodeObject): Promise<void> {
  await api.post('/apis/storage.k8s.io/v1/csinodes', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { drivers: [{ name: DRIVER, nodeID: name, topologyKeys: null }] },
  });
  await setPodReady(api, 'default', podOn(name), true);
}

const isTainted = async (node: string) => (await taintsOf(api, node)).some((taint) => taint.startsWith(`${KEY}:`));
const untilFree = (node: string) =>
  waitFor(`${node} to be free of ${KEY}`, async () => !(await isTainted(node)), { timeoutMs: 30_000 });

test('the startup taint that a driver ought to remove is removed when the driver serves, whoever put it there', async () => {
  const node = await newNode('first');
  await history.until('first', READY, 'False');
  expect(await isTainted('first')).toBe(true);
  await serve(node);
  await untilFree('first');
});

test('it is removed again when a client puts it back from an old copy of the Node', async () => {
  await api.patch('/api/v1/nodes/first', { spec: { taints: [REGISTERED] } });
  await untilFree('first');
});

test('it is removed by a coordinator that starts after the driver, which has but one attempt', async () => {
  const node = await newNode('second');
  await history.until('second', READY, 'False');
  await embedded.rig.endCoordinator(await embedded.rig.leader(), 'SIGTERM');
  await serve(node);
  expect(await isTainted('second')).toBe(true);
  await embedded.rig.addCoordinator();
  await untilFree('second');
});

test('a node on which the driver never serves keeps its taint, and is named when its deadline is over', async () => {
  await newNode('stuck');
  await waitFor('the reason', () => history.of('stuck', READY)?.reason === 'StartupDeadlineExceeded', {
    timeoutMs: 30_000,
  });
  expect(history.of('stuck', READY)).toMatchObject({ status: 'False' });
  const event = await waitFor('the Event', async () => {
    type Event = KubeObject & { reason: string; involvedObject: { name: string }; message: string };
    const events = await api.list<Event>('/api/v1/namespaces/default/events');
    return events.find(
      ({ reason, involvedObject }) => reason === 'StartupDeadlineExceeded' && involvedObject.name === 'stuck',
    );
  });
  expect(event.message).toContain('efs-csi');
  expect(await isTainted('stuck')).toBe(true);
  const leader = await embedded.rig.leader();
  expect(await leader.metric('rollcall_coordinator_startup_deadlines_exceeded_total', { service: 'efs-csi' })).toBe(1);
});
