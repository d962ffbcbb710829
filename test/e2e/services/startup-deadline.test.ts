import type { NodesDocument } from '@rollcall/common/console.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { createNode, createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const CONDITION = 'example.com/CsiReady';
const APP = { app: 'csi' };
const LATE = 'rollcall_coordinator_startup_deadlines_exceeded_total';

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`],
    nodes: 0,
  });
});

afterAll(() => embedded?.stop());

type Conditions = { type: string; status: string; reason: string }[];

/** The condition of the service on a node, as `STATUS REASON`. */
async function shown(node: string): Promise<string> {
  const { status } = await embedded.controlPlane.api.get<NodeObject>(`/api/v1/nodes/${node}`);
  const found = (status?.conditions as Conditions | undefined)?.find(({ type }) => type === CONDITION);
  return `${found?.status} ${found?.reason}`;
}

const becomes = (node: string, wanted: string) =>
  waitFor(`${node} to be ${wanted}`, async () => (await shown(node)) === wanted, { timeoutMs: 60_000 });

async function becomesReadyOn(nodeName: string): Promise<void> {
  const pod = { namespace: 'default', name: `csi-${nodeName}`, nodeName, labels: APP };
  await createPod(embedded.controlPlane.api, { ...pod, ready: true });
}

async function summaryOf(node: string) {
  const leader = await embedded.rig.leader();
  return (await leader.console<NodesDocument>('/v1/nodes'))?.nodes.find(({ name }) => name === node);
}

test('a service that is not ready on a new node in time is told, and only there', async () => {
  const { api } = embedded.controlPlane;
  const pods = { namespace: 'default', selector: { matchLabels: APP } };
  const spec = { startupDeadline: '20s', checks: [{ name: 'pod', pods }], publish: { condition: CONDITION } };
  await api.post(NODE_SERVICES, nodeService('csi', spec));
  await createNode(api, 'late');
  await becomes('late', 'False ServiceNotReady');
  const createdMs = Date.parse((await summaryOf('late'))?.starting?.[0]?.since ?? '');
  expect((await summaryOf('late'))?.starting).toEqual([
    {
      service: 'csi',
      checks: ['pod'],
      since: new Date(createdMs).toISOString().replace('.000', ''),
      deadline: new Date(createdMs + 20_000).toISOString().replace('.000', ''),
    },
  ]);
  await createNode(api, 'early');
  await becomesReadyOn('early');
  await becomes('early', 'True ServiceReady');

  await becomes('late', 'False StartupDeadlineExceeded');
  expect(Date.now() - createdMs).toBeGreaterThanOrEqual(20_000);
  const leader = await embedded.rig.leader();
  expect(await leader.metric(LATE, { service: 'csi' })).toBe(1);
  const lateEvents = async () => {
    const events = await api.list<{ metadata: { name: string }; reason?: string; regarding?: { name: string } }>(
      '/apis/events.k8s.io/v1/events',
    );
    return events.filter(({ reason }) => reason === 'StartupDeadlineExceeded').map(({ regarding }) => regarding?.name);
  };
  await waitFor('the Event', async () => (await lateEvents()).length > 0, { timeoutMs: 30_000 });

  await becomesReadyOn('late');
  await becomes('late', 'True ServiceReady');
  expect((await summaryOf('late'))?.starting).toBeUndefined();
  expect((await summaryOf('early'))?.starting).toBeUndefined();
  expect(await leader.metric(LATE, { service: 'csi' })).toBe(1);
  expect(await lateEvents()).toEqual(['late']);
});

test('a node that is drained is shown as such, and its agent is not missed', async () => {
  const { api } = embedded.controlPlane;
  const leader = await embedded.rig.leader();
  await createNode(api, 'drained');
  const nodesIn = (state: string) => leader.metric('rollcall_coordinator_nodes', { state });
  await waitFor('the node', async () => (await nodesIn('absent')) === 3, { timeoutMs: 30_000 });
  const set = (status: string) =>
    api.patch(
      '/api/v1/nodes/drained/status',
      { status: { conditions: [{ type: 'DrainInProgress', status, reason: 'Test', message: '' }] } },
      'application/strategic-merge-patch+json',
    );
  await set('True');
  await waitFor('it to count apart', async () => (await nodesIn('maintenance')) === 1, { timeoutMs: 30_000 });
  expect(await nodesIn('absent')).toBe(2);
  expect((await leader.explain('drained')).lifecycle).toEqual(['DrainInProgress']);
  expect((await summaryOf('drained'))?.lifecycle).toEqual(['DrainInProgress']);
  await set('False');
  await waitFor('it to be missed', async () => (await nodesIn('absent')) === 3, { timeoutMs: 30_000 });
  expect((await leader.explain('drained')).lifecycle).toEqual([]);
});
