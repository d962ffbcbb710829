import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, conditionOf, isProven, NODE_SERVICES, nodeService } from './node-services.ts';

const NODES = Array.from({ length: 14 }, (_, index) => `n${index}`);
const FIRST_NODES = 10;
const KEY = 'readiness.k8s.io/driver';
const APP = { app: 'driver' };

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ prepare: applyNodeServiceCrd, nodes: 0 });
  for (const name of NODES) await createNode(embedded.controlPlane.api, name);
});

afterAll(() => embedded?.stop());

/** The taints of this key, as `VALUE:EFFECT`, by node. */
async function taints(): Promise<Map<string, string>> {
  const nodes = await embedded.controlPlane.api.list<NodeObject>('/api/v1/nodes');
  const found = nodes.flatMap(({ metadata, spec }) =>
    (spec.taints ?? [])
      .filter(({ key }) => key === KEY)
      .map(({ value = '', effect }): [string, string] => [metadata.name, `${value}:${effect}`]),
  );
  expect(new Set(found.map(([name]) => name)).size).toBe(found.length);
  return new Map(found);
}

async function having(taint: string): Promise<string[]> {
  return [...(await taints())].filter(([, each]) => each === taint).map(([name]) => name);
}

/** Returns the names of the nodes once so many have the taint, and after a while still. */
async function untilHaving(taint: string, count: number): Promise<string[]> {
  const isSo = async () => (await having(taint)).length === count;
  await waitFor(`${count} nodes with ${taint}`, isSo, { timeoutMs: 30_000 });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const names = await having(taint);
  expect(names).toHaveLength(count);
  return names;
}

async function becomesReadyOn(node: string): Promise<void> {
  const tolerations = [{ operator: 'Exists' }];
  const pod = { namespace: 'default', name: `driver-${node}`, nodeName: node, labels: APP, spec: { tolerations } };
  await createPod(embedded.controlPlane.api, { ...pod, ready: true });
}

const waiting = async () => {
  const events = await embedded.controlPlane.api.list<{ metadata: { name: string }; reason?: string; count?: number }>(
    '/api/v1/events',
  );
  return events.filter(({ reason }) => reason === 'TaintRolloutPending');
};

test('a taint that is new, or edited, begins on ten nodes, and goes on once it was seen to go from one', async () => {
  const { api } = embedded.controlPlane;
  const pods = { namespace: 'default', selector: { matchLabels: APP } };
  const taint = { key: KEY, value: 'a', effect: 'NoSchedule' };
  await api.post(NODE_SERVICES, nodeService('driver', { checks: [{ name: 'pod', pods }], publish: { taint } }));
  const [first = ''] = await untilHaving('a:NoSchedule', FIRST_NODES);
  expect(await waiting()).toHaveLength(1);

  await becomesReadyOn(first);
  await untilHaving('a:NoSchedule', NODES.length - 1);
  expect(await isProven(api, `${KEY}=a:NoSchedule`)).toBe(true);

  // The next leader knows it as well.
  const { rig } = embedded;
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.addCoordinator();
  await createNode(api, 'late');
  await untilHaving('a:NoSchedule', NODES.length);

  const edit = { spec: { publish: { taint: { ...taint, value: 'b', effect: 'PreferNoSchedule' } } } };
  await api.patch(`${NODE_SERVICES}/driver`, edit, 'application/merge-patch+json');
  const [second = ''] = await untilHaving('b:PreferNoSchedule', FIRST_NODES);
  // Existing taints stay until then.
  expect(await having('a:NoSchedule')).toHaveLength(NODES.length - FIRST_NODES);

  await becomesReadyOn(second);
  await untilHaving('b:PreferNoSchedule', NODES.length - 1);
  expect((await taints()).size).toBe(NODES.length - 1);
  expect(await conditionOf(api, 'driver', 'NodesReady')).toMatch(/Ready on 2 of 15 nodes/);
});
