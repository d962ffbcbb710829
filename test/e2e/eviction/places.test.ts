import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// Pods are evicted from a fifth of the nodes of a service at a time, whichever replica leads: the Nodes note which they are.

const LABEL = 'service.rollcall.dev/cache';
const NODES = ['n0', 'n1', 'n2', 'n3', 'n4'];
const DELAY_MS = 1000;

let cluster: EmbeddedCluster;
let rig: Rig;

beforeAll(async () => {
  cluster = await embeddedCluster();
  await applyNodeServiceCrd(cluster.controlPlane);
  const coordinatorArgs = ['--evict', '--evict-readiness', `--eviction-delay-seconds=${DELAY_MS / 1000}`];
  rig = await Rig.start({ cluster, nodes: 0, coordinatorArgs });
  for (const nodeName of NODES) {
    await createNode(cluster.api, nodeName);
    const labels = { app: 'cache' };
    await createPod(cluster.api, { namespace: 'default', name: `cache-${nodeName}`, nodeName, ready: true, labels });
  }
  const pods = { namespace: 'default', selector: { matchLabels: { app: 'cache' } } };
  await cluster.api.post(NODE_SERVICES, nodeService('cache', { checks: [{ name: 'pod', pods }] }));
  for (const nodeName of NODES) {
    await rig.history.until(nodeName, LABEL, 'true', 30_000);
    const spec = { nodeSelector: { [LABEL]: 'true' } };
    await createPod(cluster.api, { namespace: 'default', name: `needs-${nodeName}`, nodeName, ready: true, spec });
  }
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.stop();
});

async function evictedFrom(): Promise<string[]> {
  const pods = await cluster.api.list('/api/v1/namespaces/default/pods');
  const left = pods.filter(({ metadata }) => metadata['deletionTimestamp'] === undefined);
  return NODES.filter((node) => !left.some(({ metadata }) => metadata.name === `needs-${node}`));
}

test('a new leader evicts pods from no other nodes', async () => {
  await setPodReady(cluster.api, 'default', 'cache-n4', false);
  await waitFor('the pod on n4 to be evicted', async () => (await evictedFrom()).includes('n4'), { timeoutMs: 30_000 });
  for (const node of NODES.slice(0, -1)) {
    await setPodReady(cluster.api, 'default', `cache-${node}`, false);
    await rig.history.until(node, LABEL, undefined);
  }
  await rig.endCoordinator(await rig.leader(), 'SIGKILL');
  await rig.addCoordinator();
  await rig.leader(60_000);
  // It evicts once the service is ready on the first node, so that it would have done so before.
  await new Promise((resolve) => setTimeout(resolve, 10 * DELAY_MS));
  expect(await evictedFrom()).toEqual(['n4']);
  await setPodReady(cluster.api, 'default', 'cache-n4', true);
  await waitFor('a pod on another node', async () => (await evictedFrom()).length === 2, { timeoutMs: 30_000 });
  await new Promise((resolve) => setTimeout(resolve, 5 * DELAY_MS));
  expect(await evictedFrom()).toHaveLength(2);
});
