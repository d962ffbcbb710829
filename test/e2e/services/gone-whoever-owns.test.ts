import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode, createPod, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

// NodeServices by pods alone, on Nodes without an agent.

const LABEL = 'service.rollcall.dev/cache';
const ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-coordinator';
const NODE = 'n';

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ prepare: applyNodeServiceCrd, nodes: 0 });
  await nodeWithPod(NODE);
});
afterAll(() => embedded?.stop());

const api = () => embedded.controlPlane.api;
const labelled = (node: string, value: 'true' | undefined) => embedded.rig.history.until(node, LABEL, value, 30_000);

async function nodeWithPod(name: string): Promise<void> {
  await createNode(api(), name);
  await createPod(api(), {
    ...{ namespace: 'default', name: `cache-${name}`, nodeName: name, ready: true },
    labels: { app: 'cache' },
  });
}

async function createService(): Promise<void> {
  const pods = { namespace: 'default', selector: { matchLabels: { app: 'cache' } } };
  await api().post(NODE_SERVICES, nodeService('cache', { checks: [{ name: 'pod', pods }] }));
}

/** Times of objects have seconds. */
async function nextSecond(): Promise<void> {
  const fromMs = Date.now();
  await waitFor('the next second', () => Date.now() - fromMs > 1000);
}

const deleteService = () => api().delete(`${NODE_SERVICES}/cache`);

test('the label of a deleted NodeService goes, although a predecessor applied the same value', async () => {
  await createService();
  await labelled(NODE, 'true');
  const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE, labels: { [LABEL]: 'true' } } };
  const path = `/api/v1/nodes/${NODE}?fieldManager=predecessor`;
  await api().patch(path, applied, 'application/apply-patch+yaml');
  await deleteService();
  await labelled(NODE, undefined);
});

test('the label of a deleted NodeService goes, although NodePoolLabelSets cannot be listed', async () => {
  type Role = KubeObject & { rules: { resources?: string[] }[] };
  const role = await api().get<Role>(ROLE);
  const rules = role.rules.filter(({ resources = [] }) => !resources.includes('nodepoollabelsets'));
  expect(rules.length).toBe(role.rules.length - 1);
  await createService();
  await labelled(NODE, 'true');
  const { rig } = embedded;
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await api().patch(ROLE, { rules });
  const coordinator = await rig.addCoordinator();
  await waitFor('the refusal', () => coordinator.tail(200).includes('"resource":"nodepoollabelsets"'));
  await rig.leader();
  await deleteService();
  await labelled(NODE, undefined);
  await api().patch(ROLE, { rules: role.rules });
});

test('a pod of the machine before does not vouch for a Node that is created anew, until it becomes Ready there', async () => {
  const name = 'anew';
  await createService();
  await nodeWithPod(name);
  await labelled(name, 'true');
  await api().delete(`/api/v1/nodes/${name}`);
  await nextSecond();
  await createNode(api(), name);
  const leader = await embedded.rig.leader();
  const reason = async () => (await leader.explain(name)).services.find((each) => each.name === 'cache')?.reason;
  await expect.poll(reason, { timeout: 30_000 }).toMatch(/is Ready since before the Node was created/);
  expect(embedded.rig.history.labels(name)).not.toHaveProperty([LABEL]);
  await nextSecond();
  for (const ready of [false, true]) await setPodReady(api(), 'default', `cache-${name}`, ready);
  await labelled(name, 'true');
});
