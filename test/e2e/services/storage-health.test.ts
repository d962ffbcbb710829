import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
const DRIVER = 'ebs.csi.aws.com';
const LABEL = 'service.rollcall.dev/csi';

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    nodes: 0,
    featureGates: { CSIVolumeHealth: true },
  });
});

afterAll(() => embedded?.stop());

test('a csiNode check follows what the driver reports of its storage', async () => {
  const { api } = embedded.controlPlane;
  await createNode(api, 'n0');
  const { metadata } = await api.get<NodeObject>('/api/v1/nodes/n0');
  const { uid } = metadata as unknown as { uid: string };
  await api.post(CSI_NODES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'n0', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n0', uid }] },
    spec: { drivers: [{ name: DRIVER, nodeID: 'n0', topologyKeys: null }] },
  });
  await api.post(NODE_SERVICES, nodeService('csi', { checks: [{ name: 'registered', csiNode: { driver: DRIVER } }] }));
  const isLabeled = async (value: string | undefined) =>
    (await api.get<NodeObject>('/api/v1/nodes/n0')).metadata.labels?.[LABEL] === value;
  const becomes = (value: string | undefined) =>
    waitFor(`the label ${value}`, () => isLabeled(value), { timeoutMs: 30_000 });
  const report = (healthConditions: object[]) =>
    api.patch(`${CSI_NODES}/n0/status`, { status: { storageHealth: [{ name: DRIVER, healthConditions }] } });
  await becomes('true');

  await report([{ status: 'StorageUnreachable', reason: 'NoPath', message: 'no path to the array' }]);
  await becomes(undefined);
  const { services } = await (await embedded.rig.leader()).explain('n0');
  expect(services.find(({ name }) => name === 'csi')?.reason).toBe(
    `the CSINode reports about the storage of ${DRIVER}: StorageUnreachable: NoPath: no path to the array`,
  );

  await report([]);
  await becomes('true');
});
