import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { applyCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';
import { SchedulerStage } from './scheduler-stage.ts';

// A real kube-scheduler, for the pods of something that is not Gitpod.

const BUILDS = { pool: 'builds' };
const CACHE = { app: 'cache' };

let stage: SchedulerStage;
beforeAll(async () => {
  stage = await SchedulerStage.start({
    nodes: 0,
    coordinatorArgs: [
      '--gitpod=false',
      '--scheduler-namespace=default',
      '--namespace=nowhere',
      '--scheduler-pod-selector=app in (build,test)',
      '--scheduler-services=cache',
      '--scheduler-node-selector=pool=builds',
    ],
  });
  await applyCrd(stage.cluster.controlPlane, 'nodeservices');
  const pods = { namespace: 'default', selector: { matchLabels: CACHE } };
  await stage.api.post(NODE_SERVICES, nodeService('cache', { checks: [{ name: 'pod', pods }] }));
  for (const name of ['large', 'small']) await createNode(stage.api, name, { labels: BUILDS });
  await createNode(stage.api, 'other');
  for (const name of ['large', 'other']) await startCache(name);
});
afterEach(() => stage?.clear(/^cache-/));
afterAll(() => stage?.stop());

async function startCache(nodeName: string): Promise<void> {
  await createPod(stage.api, { namespace: 'default', name: `cache-${nodeName}`, nodeName, labels: CACHE, ready: true });
}

async function cacheIs(node: string, state: string): Promise<void> {
  await waitFor(
    `the cache on ${node} to be ${state}`,
    async () => {
      const { services } = await (await stage.rig.leader()).explain(node);
      return services.find(({ name }) => name === 'cache')?.state === state;
    },
    { timeoutMs: 30_000 },
  );
}

const scheduler = { schedulerName: 'gitpod-scheduler' };

function build(name: string, cpu = '100m', spec: object = {}): Promise<void> {
  const containers = [{ name: 'main', image: 'none', resources: { requests: { cpu, memory: '64Mi' } } }];
  return stage.pod(name, { app: 'build' }, { ...scheduler, containers, ...spec });
}

test('its own pods go only to the nodes that are selected, where the service is ready', async () => {
  await cacheIs('large', 'ready');
  for (const name of ['a', 'b', 'c']) await build(name);
  for (const name of ['a', 'b', 'c']) expect(await stage.nodeOf(name)).toBe('large');
  await build('unready', '100m', { nodeSelector: { 'kubernetes.io/hostname': 'small' } });
  expect(await stage.untilRefused('unready')).toContain('cache is not ready on the node');
  await build('elsewhere', '100m', { nodeSelector: { 'kubernetes.io/hostname': 'other' } });
  expect(await stage.untilRefused('elsewhere')).toContain(
    'the node does not match the selector for such pods (pool=builds)',
  );
  await stage.pod(
    'workspace',
    { component: 'workspace' },
    { ...scheduler, nodeSelector: { 'kubernetes.io/hostname': 'small' } },
  );
  expect(await stage.nodeOf('workspace')).toBe('small');
  await startCache('small');
  expect(await stage.nodeOf('unready')).toBe('small');
});

test('nodes are filled by what pods ask for, not by how many there are', async () => {
  for (const node of ['large', 'small']) await cacheIs(node, 'ready');
  const on = (node: string) => ({ nodeSelector: { 'kubernetes.io/hostname': node } });
  for (const index of [1, 2, 3, 4, 5]) await build(`few-${index}`, '10m', on('large'));
  await build('much', '8', on('small'));
  for (const index of [1, 2, 3, 4, 5]) expect(await stage.nodeOf(`few-${index}`)).toBe('large');
  expect(await stage.nodeOf('much')).toBe('small');
  // Those that start count against a node, and are not what is compared here.
  for (const name of [1, 2, 3, 4, 5].map((index) => `few-${index}`).concat('much')) {
    await setPodReady(stage.api, 'default', name, true);
  }
  type Explained = { nodes: { name: string; score: number; terms: { term: string; message: string }[] }[] };
  await build('next', '100m', { schedulerName: 'nobody' });
  const explain = async () => (await stage.rig.leader()).console<Explained>('/v1/schedule?pod=default/next');
  const seen = async () => {
    const small = (await explain())?.nodes.find(({ name }) => name === 'small');
    return small?.terms.find(({ term }) => term === 'density')?.message.startsWith('51 %');
  };
  await waitFor('the coordinator to see what is asked for', seen, { timeoutMs: 20_000 });
  const scores = new Map((await explain())?.nodes.map(({ name, score }) => [name, score]));
  expect(scores.get('small')).toBe(10);
  expect(scores.get('large')).toBeLessThan(10);
  await build('more');
  expect(await stage.nodeOf('more')).toBe('small');
});

test('a lack of room is nothing that pods of less priority are removed for', async () => {
  await stage.api.post('/apis/scheduling.k8s.io/v1/priorityclasses', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'urgent' },
    value: 1000,
  });
  const on = { nodeSelector: { 'kubernetes.io/hostname': 'large' } };
  await stage.restart(['--max-workspaces-per-node=2']);
  await cacheIs('large', 'ready');
  for (const name of ['first', 'second']) await build(name, '100m', on);
  for (const name of ['first', 'second']) {
    await stage.nodeOf(name);
    await setPodReady(stage.api, 'default', name, true);
  }
  await build('urgent', '100m', { ...on, priorityClassName: 'urgent' });
  const said = await stage.untilRefused('urgent');
  expect(said).toContain('the node has no room for another workspace');
  expect(said).toContain('Preemption is not helpful for scheduling');
  await expect(stage.nodeOf('first')).resolves.toBe('large');
  await stage.api.delete('/api/v1/namespaces/default/pods/first', { gracePeriodSeconds: 0 });
  expect(await stage.nodeOf('urgent')).toBe('large');
});
