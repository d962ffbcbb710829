import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { applyDeployed, nodePoolLabels, POOL, poolLabelsPath } from '../pools/pool-cluster.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// With --evict-readiness, pods are evicted for the label of a service that is seen to fail, as long as something in force
// requests the label on the node.

/** For the programs, of which the clock is four times as fast. */
const DELAY_SECONDS = 40;
const CLOCK_SPEED = 4;

let cluster: EmbeddedCluster;
let rig: Rig;

beforeAll(async () => {
  cluster = await embeddedCluster('no fence');
  await applyNodeServiceCrd(cluster.controlPlane);
  await applyDeployed(cluster, 'crds/nodepoollabels.yaml');
  await waitFor('NodePoolLabels to be served', () => cluster.api.list(poolLabelsPath()));
  const coordinatorArgs = ['--evict', '--evict-readiness', `--eviction-delay-seconds=${DELAY_SECONDS}`];
  rig = await Rig.start({ cluster, nodes: 0, coordinatorArgs, clockSpeed: CLOCK_SPEED });
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.stop();
});

const labelOf = (name: string) => `example.com/${name}`;

/** A service by the pods of an app, on the node of that name by default. */
function service(name: string, app: string, label: string, of = app): Promise<unknown> {
  const pods = { namespace: 'default', selector: { matchLabels: { app } } };
  const spec = { nodeSelector: { matchLabels: { of } }, checks: [{ name: 'pod', pods }], publish: { label } };
  return cluster.api.post(NODE_SERVICES, nodeService(name, spec));
}

/** A node with a service that is ready, and a pod that requires its label. */
async function stage(name: string): Promise<void> {
  await createNode(cluster.api, name, { labels: { of: name, [POOL]: name } });
  await createPod(cluster.api, { namespace: 'default', name, nodeName: name, ready: true, labels: { app: name } });
  await service(name, name, labelOf(name));
  await rig.history.until(name, labelOf(name), 'true', 30_000);
  const spec = { nodeSelector: { [labelOf(name)]: 'true' } };
  await createPod(cluster.api, { namespace: 'default', name: `needs-${name}`, nodeName: name, ready: true, spec });
}

async function fail(name: string): Promise<void> {
  await setPodReady(cluster.api, 'default', name, false);
  await rig.history.until(name, labelOf(name), undefined);
}

async function isEvicted(name: string): Promise<boolean> {
  return cluster.api.get(`/api/v1/namespaces/default/pods/needs-${name}`).then(
    ({ metadata }) => (metadata as { deletionTimestamp?: string }).deletionTimestamp !== undefined,
    () => true,
  );
}

const edit = (name: string, spec: object) => cluster.api.patch(`${NODE_SERVICES}/${name}`, { spec });

async function listed(name: string): Promise<string> {
  const { metadata } = await cluster.api.get<NodeObject>(`/api/v1/nodes/${name}`);
  return metadata.annotations?.[KEYS_ANNOTATION] ?? '';
}

const acts: Record<string, { act: (name: string) => Promise<unknown> }> = {
  deleted: { act: (name) => cluster.api.delete(`${NODE_SERVICES}/${name}`) },
  renamed: { act: (name) => edit(name, { publish: { label: labelOf(`${name}-new`) } }) },
  'renamed-healthy': {
    act: async (name) => {
      await edit(name, { publish: { label: labelOf(`${name}-new`) } });
      await setPodReady(cluster.api, 'default', name, true);
    },
  },
  'no-longer-selected': { act: (name) => edit(name, { nodeSelector: { matchLabels: { of: 'none' } } }) },
  'no-longer-selected-and-deleted': {
    act: async (name) => {
      await edit(name, { nodeSelector: { matchLabels: { of: 'none' } } });
      await waitFor('the label to be listed no more', async () => !(await listed(name)).includes(labelOf(name)));
      await cluster.api.delete(`${NODE_SERVICES}/${name}`);
    },
  },
  'list-removed-and-renamed': {
    act: async (name) => {
      const metadata = { annotations: { [KEYS_ANNOTATION]: null } };
      await cluster.api.patch(`/api/v1/nodes/${name}`, { metadata }, 'application/merge-patch+json');
      await edit(name, { publish: { label: labelOf(`${name}-new`) } });
    },
  },
  'taken-by-a-younger-service': {
    act: async (name) => {
      await edit(name, { publish: { label: labelOf(`${name}-new`) } });
      await service(`${name}-younger`, 'nothing', labelOf(name), 'none');
    },
  },
  'taken-by-a-pool': {
    act: async (name) => {
      await cluster.api.delete(`${NODE_SERVICES}/${name}`);
      await cluster.api.post(poolLabelsPath(), nodePoolLabels('elsewhere', { [labelOf(name)]: 'x' }));
    },
  },
  'no-longer-publishing-a-label': {
    act: (name) => edit(name, { publish: { label: null, condition: labelOf(`${name}-new`) } }),
  },
  'ready-again': { act: (name) => setPodReady(cluster.api, 'default', name, true) },
};

test('no pod is evicted once nothing in force requests the label on the node, and others are', {
  timeout: 120_000,
}, async () => {
  const names = Object.keys(acts);
  for (const name of [...names, 'control']) await stage(name);
  await Promise.all(names.map(fail));
  await Promise.all(Object.entries(acts).map(([name, { act }]) => act(name)));
  await fail('control');
  await waitFor('the pod of a service that fails to be evicted', () => isEvicted('control'), { timeoutMs: 30_000 });
  const evicted = await Promise.all(names.map(async (name) => [name, await isEvicted(name)]));
  expect(Object.fromEntries(evicted)).toEqual(Object.fromEntries(names.map((name) => [name, false])));
});
