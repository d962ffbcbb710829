import type { NodeCondition } from '@rollcall/coordinator/kube/objects.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { installFence } from '../../rig/fence.ts';
import { startPolicy } from './policy.ts';
import {
  type Cluster,
  coordinatorClient,
  label,
  newNode,
  type RecordingClient,
  readNode,
  startCluster,
  startWriterRig,
  type Wish,
  type WriterRig,
} from './writer-rig.ts';

const [A, B] = ['example.com/A', 'example.com/B'];

let cluster: Cluster;
let client: RecordingClient;
let rig: WriterRig;

beforeAll(async () => {
  cluster = await startCluster();
  client = coordinatorClient(cluster);
  rig = startWriterRig(cluster, { client });
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.controlPlane.stop();
});

function condition(key: string, value: string, change: Partial<Wish> = {}): Wish {
  const news = { reason: 'Said', message: `it is ${value}`, at: '2026-01-01T00:00:00Z' };
  return { ...label(key, value), kind: 'condition', origin: 'service:u', news, ...change };
}

async function conditionsOf(name: string): Promise<Record<string, string>> {
  const { conditions = [] } = (await readNode(cluster, name)).status as { conditions?: NodeCondition[] };
  return Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
}

/** Writes to this Node that were more than a rehearsal. */
function writesTo(name: string): string[] {
  const sent = client.sent.filter(({ path, query }) => path.includes(`/${name}`) && !query?.['dryRun']);
  return sent.map(({ path, contentType = '' }) => `${path.split('/').slice(5).join('/')} ${contentType.split('/')[1]}`);
}

test('several conditions are listed by one request, and written by one more, each time with the others as they are', async () => {
  await newNode(cluster, 'several');
  rig.want('several', [condition(A, 'True'), condition(B, 'True')]);
  await rig.until('several');
  expect(writesTo('several')).toEqual([' apply-patch+yaml', 'status apply-patch+yaml']);
  const before = (await readNode(cluster, 'several')).status.conditions?.find(({ type }) => type === B);

  rig.want('several', [condition(A, 'False'), condition(B, 'True', { stance: 'keep' })]);
  await rig.until('several');
  expect(writesTo('several')).toHaveLength(3);
  const { status } = await readNode(cluster, 'several');
  expect(status.conditions?.find(({ type }) => type === B)).toEqual(before);
  expect(await conditionsOf('several')).toEqual({ Ready: 'True', [A]: 'False', [B]: 'True' });
});

test('a condition that a policy refuses is found and skipped, and the others are written', async () => {
  const policy = await startPolicy(cluster, {
    reason: 'Invalid',
    expression: `!('tried' in object.metadata.labels) && !object.status.?conditions.orValue([]).exists(c, c.type == '${B}')`,
    message: 'not this one',
    refused: { labels: { tried: '1' } },
  });
  await newNode(cluster, 'refused');
  rig.want('refused', [
    condition(A, 'True'),
    condition(B, 'True'),
    condition('example.com/C', 'False'),
    label('l', '1'),
  ]);
  await waitFor('the others', async () => {
    const there = await conditionsOf('refused');
    return there[A] === 'True' && there['example.com/C'] === 'False';
  });
  expect(rig.skipped.keysFor('refused').map(({ kind, key, cause }) => `${cause} ${kind} ${key}`)).toEqual([
    `denied condition ${B}`,
  ]);
  expect((await readNode(cluster, 'refused')).metadata.labels?.['l']).toBe('1');
  await policy.remove();
  await waitFor('all of them', async () => (await conditionsOf('refused'))[B] === 'True', { timeoutMs: 30_000 });
});

test('where the right to write conditions is missing, all else is written', async () => {
  const { api } = cluster.controlPlane;
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-coordinator';
  const { rules } = (await api.get(role)) as unknown as { rules: { resources: string[] }[] };
  await api.patch(role, { rules: rules.filter(({ resources }) => !resources.includes('nodes/status')) });
  await newNode(cluster, 'rightless');
  const tried = { path: '/api/v1/nodes/rightless/status', contentType: 'application/merge-patch+json', body: {} };
  const tries = () => client.request({ ...tried, method: 'PATCH', query: { dryRun: 'All' }, timeoutMs: 5000 });
  const isRefused = () =>
    tries().then(
      () => false,
      () => true,
    );
  await waitFor('the right to be missing', isRefused);
  rig.want('rightless', [condition(A, 'False'), label('l', '1')]);
  await waitFor('the label', async () => (await readNode(cluster, 'rightless')).metadata.labels?.['l'] === '1');
  await api.patch(role, { rules });
  await waitFor('the condition', async () => (await conditionsOf('rightless'))[A] === 'False', { timeoutMs: 60_000 });
});

test('a condition that another client reverts repeatedly is contested, and tried every 10 s since it keeps pods away', async () => {
  await newNode(cluster, 'fought');
  rig.want('fought', [condition(A, 'False')]);
  await rig.until('fought');
  const path = '/api/v1/nodes/fought/status?fieldManager=stubborn';
  const person = { status: { conditions: [{ type: A, status: 'True' }] } };
  await waitFor(
    'the contest',
    async () => {
      if ((await conditionsOf('fought'))[A] === 'False') {
        await cluster.controlPlane.api.patch(path, person, 'application/strategic-merge-patch+json');
      }
      return rig.toldContested.length > 0;
    },
    { timeoutMs: 30_000 },
  );
  expect(rig.toldContested).toMatchObject([{ kind: 'condition', key: A, wanted: 'False', rival: 'stubborn' }]);
  await waitFor('it to be tried again', async () => (await conditionsOf('fought'))[A] === 'False', {
    timeoutMs: 30_000,
  });
});

test('what a rival has is left to them, which costs the others nothing', async () => {
  await newNode(cluster, 'rivalled');
  await cluster.controlPlane.api.patch(
    '/api/v1/nodes/rivalled/status?fieldManager=rival',
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'rivalled' },
      status: { conditions: [{ type: A, status: 'Unknown' }] },
    },
    'application/apply-patch+yaml',
  );
  rig.want('rivalled', [condition(A, 'True'), condition(B, 'True')]);
  await waitFor('the other', async () => (await conditionsOf('rivalled'))[B] === 'True');
  expect(rig.skipped.keysFor('rivalled')).toMatchObject([{ kind: 'condition', key: A, cause: 'foreign' }]);
  expect((await conditionsOf('rivalled'))[A]).toBe('Unknown');
});

test('behind the fence a condition that may not be listed holds up no other, and nothing else of the status is touched', async () => {
  await installFence(cluster.controlPlane, { servicePrefixes: ['example.com/A', 'example.com/l'] });
  await newNode(cluster, 'erased', {
    annotations: {
      'rollcall.dev/keys': JSON.stringify({ [`condition:${A}`]: 'service:u', [`condition:${B}`]: 'service:u' }),
    },
  });
  const foreign = { path: '/api/v1/nodes/erased', contentType: 'application/merge-patch+json', timeoutMs: 5000 };
  const tries = () =>
    client.request({
      ...foreign,
      method: 'PATCH',
      query: { dryRun: 'All' },
      body: { metadata: { labels: { foreign: '1' } } },
    });
  const isRefused = () =>
    tries().then(
      () => false,
      () => true,
    );
  await waitFor('the fence', isRefused);
  rig.want('erased', [condition(A, 'True')]);
  await rig.until('erased');
  await cluster.controlPlane.api.patch('/api/v1/nodes/erased', { metadata: { managedFields: [{}] } });
  rig.want('erased', [condition(A, 'True'), label('example.com/l', 'true', { origin: 'service:u' })]);
  await rig.until('erased');
  rig.want('erased', [
    condition(A, 'False'),
    condition(B, 'True'),
    label('example.com/l', 'true', { origin: 'service:u' }),
  ]);
  await waitFor('the other', async () => (await conditionsOf('erased'))[A] === 'False', { timeoutMs: 30_000 });
  expect(await conditionsOf('erased')).toEqual({ Ready: 'True', [A]: 'False' });
});
