import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import { ApiError, type PatchType } from '../../control-plane/api-client.ts';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { installFence } from '../../rig/fence.ts';
import { type PoolCluster, startPoolCluster } from '../pools/pool-cluster.ts';

const OWN = 'example.com/Ready';
const OTHER = 'example.com/Other';
const RECORDED = 'example.org/Old';
const FOREIGN = 'KernelDeadlock';
const KEYS = 'rollcall.dev/keys';
const listOf = (...ids: readonly string[]) => JSON.stringify(Object.fromEntries(ids.map((id) => [id, 'service:u'])));
const MERGE = 'application/strategic-merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const JSON_PATCH = 'application/json-patch+json';

let cluster: PoolCluster;

beforeAll(async () => {
  cluster = await startPoolCluster();
  await createNode(cluster.api, 'n', {
    annotations: {
      [KEYS]: listOf('label:example.com/x', ...[RECORDED, OWN, OTHER, 'Ready'].map((type) => `condition:${type}`)),
    },
  });
  const others = conditions(...[RECORDED, FOREIGN].map((type) => ({ type, status: 'False' })));
  await cluster.api.patch('/api/v1/nodes/n/status?fieldManager=npd', others, MERGE);
  await installFence(cluster.controlPlane, { servicePrefixes: [...DEFAULT_SERVICE_PREFIXES, 'example.com/'] });
  await waitFor('the fence', () => refusal({ status: { capacity: { cpu: '1' } } }));
});
afterAll(() => cluster?.stop());

/** What the API server says to a patch of the status with the coordinator's token: nothing when it takes it. */
async function refusal(
  body: object,
  type: PatchType = MERGE,
  { query = 'dryRun=All', node = 'n', path = '/status' } = {},
): Promise<string | undefined> {
  const url = `/api/v1/nodes/${node}${path}?fieldManager=rollcall&${query}`;
  const outcome = await cluster.coordinator.patch(url, body, type).catch((error: unknown) => error);
  if (!(outcome instanceof Error)) return undefined;
  if (outcome instanceof ApiError) return outcome.message;
  throw outcome;
}

const conditions = (...all: object[]) => ({ status: { conditions: all } });
const condition = (type: string, status = 'True') => conditions({ type, status, reason: 'A', message: 'b' });
const apply = (metadata: object, status: object) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', ...metadata },
  ...status,
});

async function removal(type: string): Promise<object[]> {
  const { status } = await cluster.api.get<NodeObject>('/api/v1/nodes/n');
  const path = `/status/conditions/${status.conditions?.findIndex((each) => each.type === type)}`;
  return [
    { op: 'test', path: `${path}/type`, value: type },
    { op: 'remove', path },
  ];
}

describe('of the status of a Node the coordinator may', () => {
  test('apply conditions below its prefixes, and let go of them', async () => {
    const real = { query: 'force=true' };
    expect(await refusal(apply({}, condition(OWN)), APPLY, real)).toBeUndefined();
    expect(await refusal(apply({}, condition(OWN, 'False')), APPLY, real)).toBeUndefined();
    expect(await refusal(await removal(OWN), JSON_PATCH)).toBeUndefined();
    expect(await refusal(apply({}, condition(OTHER)), APPLY, real)).toBeUndefined();
  });

  test('remove a condition that is listed for a service, whatever its prefix', async () => {
    expect(await refusal(await removal(RECORDED), JSON_PATCH)).toBeUndefined();
  });

  test('give up what it owns of it, and restore what another client changed', async () => {
    await refusal(apply({}, condition(OWN)), APPLY, { query: 'force=true' });
    await cluster.api.patch('/api/v1/nodes/n/status?fieldManager=person', condition(OWN, 'False'), MERGE);
    expect(await refusal(apply({}, condition(OWN)), APPLY, { query: 'force=true' })).toBeUndefined();
    const { metadata } = await cluster.api.get('/api/v1/nodes/n');
    const fields = metadata['managedFields'] as { manager: string; subresource?: string; operation: string }[];
    const entry = fields.findIndex(({ manager, subresource }) => manager === 'rollcall' && subresource === 'status');
    const disown = [{ op: 'remove', path: `/metadata/managedFields/${entry}` }];
    expect(await refusal(disown, JSON_PATCH, { path: '' })).toBeUndefined();
  });
});

describe('of the status of a Node the coordinator may not', () => {
  test.each<[string, object, RegExp]>([
    ["change a condition of the kubelet's", condition('Ready', 'False'), /conditions of others/],
    ['set one of maintenance', condition('DrainInProgress'), /conditions of others/],
    ['set one of networks', condition('NetworkUnavailable'), /conditions of others/],
    ['change a foreign one', condition(FOREIGN), /conditions of others/],
    ['set one that is not listed', condition('example.com/Unlisted'), /conditions of others/],
    ['set one outside of its prefixes', condition('StorageReady'), /conditions of others/],
    ['set one that begins as taints may', condition('readiness.k8s.io/A'), /conditions of others/],
    ['change one that is listed, but not below its prefixes', condition(RECORDED), /conditions of others/],
    [
      'change one of its own and capacity',
      { status: { ...condition(OWN).status, capacity: { cpu: '1' } } },
      /nothing but/,
    ],
    ['change allocatable', { status: { allocatable: { cpu: '1' } } }, /nothing but/],
    ['change addresses', { status: { addresses: [{ type: 'InternalIP', address: '1.2.3.4' }] } }, /nothing but/],
    ['add a field', { status: { phase: 'Running' } }, /nothing but/],
    ['set a label', { metadata: { labels: { 'node-role.kubernetes.io/x': '' } }, ...condition(OWN) }, /nothing but/],
    ['set a label of its own', { metadata: { labels: { 'example.com/x': 'true' } } }, /nothing but/],
    ['set an annotation', { metadata: { annotations: { a: 'b' } } }, /nothing but/],
    ['set a finalizer', { metadata: { finalizers: ['a.io/b'] } }, /nothing but/],
  ])('%s', async (_what, body, problem) => expect(await refusal(body)).toMatch(problem));

  test("remove a foreign condition, or the kubelet's, although it is listed", async () => {
    expect(await refusal(await removal(FOREIGN), JSON_PATCH)).toMatch(/conditions of others/);
    expect(await refusal(await removal('Ready'), JSON_PATCH)).toMatch(/conditions of others/);
  });

  test('list a condition that another field manager set below its prefixes, or change it', async () => {
    const type = 'example.com/Theirs';
    await createNode(cluster.api, 'theirs', { annotations: { [KEYS]: listOf(`condition:${OWN}`) } });
    await cluster.api.patch('/api/v1/nodes/theirs/status?fieldManager=npd', condition(type), MERGE);
    const annotations = { [KEYS]: listOf(`condition:${type}`) };
    const listed = await refusal({ metadata: { annotations } }, MERGE, { node: 'theirs', path: '' });
    expect(listed).toContain('may not list the keys of others');
    await cluster.api.patch('/api/v1/nodes/theirs', { metadata: { annotations } });
    expect(await refusal(condition(type, 'False'), MERGE, { node: 'theirs' })).toMatch(/conditions of others/);
  });

  test('apply a label along with a condition', async () => {
    const labels = { 'example.com/x': 'true' };
    expect(await refusal(apply({ labels }, condition(OWN)), APPLY)).toMatch(/nothing but/);
  });

  test('empty it by an apply of nothing, where no field manager owns the rest', async () => {
    const { api } = cluster;
    await createNode(api, 'bare', { annotations: { [KEYS]: listOf('label:example.com/x', `condition:${OWN}`) } });
    await refusal({ ...apply({}, condition(OWN)), metadata: { name: 'bare' } }, APPLY, { node: 'bare', query: '' });
    await api.patch('/api/v1/nodes/bare', { metadata: { managedFields: [{}] } });
    const label = { ...apply({}, {}), metadata: { name: 'bare', labels: { 'example.com/x': 'true' } } };
    await refusal(label, APPLY, { node: 'bare', query: '', path: '' });
    await refusal({ ...apply({}, condition(OWN)), metadata: { name: 'bare' } }, APPLY, { node: 'bare', query: '' });
    const nothing = { ...apply({}, conditions()), metadata: { name: 'bare' } };
    expect(await refusal(nothing, APPLY, { node: 'bare' })).toMatch(/nothing but/);
  });
});

test('a Node with the conditions, labels and taints of 150 services is within what a policy may cost', async () => {
  const many = Array.from({ length: 150 }, (_, index) => `example.com/service-number-${index}`);
  const list = listOf(...['label', 'taint', 'condition'].flatMap((kind) => many.map((key) => `${kind}:${key}`)));
  const labels = Object.fromEntries(many.map((key) => [key, 'true']));
  await createNode(cluster.api, 'many', { annotations: { [KEYS]: list }, labels });
  const all = conditions(...many.map((type) => ({ type, status: 'True', reason: 'A', message: 'b'.repeat(200) })));
  const body = { ...apply({}, all), metadata: { name: 'many' } };
  expect(await refusal(body, APPLY, { node: 'many', query: '' })).toBeUndefined();
  const less = { ...apply({}, conditions(...all.status.conditions.slice(1))), metadata: { name: 'many' } };
  expect(await refusal(less, APPLY, { node: 'many', query: '' })).toBeUndefined();
});

test('where no conditions are published, it may change nothing of the status', async () => {
  await installFence(cluster.controlPlane, { servicePrefixes: ['example.com/'], conditions: 'false' });
  await waitFor('the other fence', () => refusal(apply({}, condition(OWN)), APPLY));
});
