import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { PoolCluster } from '../pools/pool-cluster.ts';
import { CONFIG_MAP, LEASE, makeOwnObjects, OWN_OBJECTS, SECRET } from './fence-objects.ts';
import { startFencedCluster } from './fence-victim.ts';

// What the coordinator's token may do to the objects that are no Nodes, whatever rights it is given by mistake.

const CORE = '/api/v1/namespaces/rollcall';
const contentOf = ({ path, content: [content = {}] }: (typeof OWN_OBJECTS)[number]): [string, object] => [
  path,
  content,
];
const OWN = OWN_OBJECTS.slice(0, 3).map(contentOf);
const WITH_STATUS = OWN_OBJECTS.slice(3).map(contentOf);
const OWNER = { apiVersion: 'v1', kind: 'Namespace', name: 'rollcall', uid: '00000000-0000-0000-0000-000000000000' };
const forged = (manager: string, field: string, more: object = {}) => ({
  ...{ manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { [field]: { 'f:x': {} } } },
  ...more,
});

let cluster: PoolCluster;
beforeAll(async () => {
  cluster = await startFencedCluster();
  const { api } = cluster;
  const group = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
  await api.post(`${group}/clusterroles`, { metadata: { name: 'all' }, rules });
  await api.post(`${group}/clusterrolebindings`, {
    metadata: { name: 'all' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'all' },
    subjects: [{ kind: 'ServiceAccount', name: 'rollcall-coordinator', namespace: 'rollcall' }],
  });
  await waitFor('the rights', async () => (await sent('GET', `${CORE}/secrets`)).status === 200);
  await makeOwnObjects(cluster);
});
afterAll(() => cluster?.stop());

function sent(method: string, path: string, body?: object, type = 'application/merge-patch+json') {
  return cluster.coordinator.exchange(
    method,
    `${path}${path.includes('?') ? '' : '?fieldManager=rollcall'}`,
    body && JSON.stringify(body),
    type,
  );
}

function apply(path: string, body: object) {
  const [name = '', plural = ''] = path.split('/').toReversed();
  const kind = { secrets: 'Secret', configmaps: 'ConfigMap', leases: 'Lease' }[plural];
  const apiVersion = plural === 'leases' ? 'coordination.k8s.io/v1' : 'v1';
  return sent(
    'PATCH',
    `${path}?fieldManager=rollcall`,
    { apiVersion, kind, ...body, metadata: { ...(body as Partial<KubeObject>).metadata, name } },
    'application/apply-patch+yaml',
  );
}

/** The API server refuses the request, or drops what it asks for: fields that the object cannot have, for example. */
async function unchanged(path: string, attempt: () => Promise<{ status: number }>): Promise<void> {
  const before = await cluster.api.get(path);
  expect([200, 422]).toContain((await attempt()).status);
  expect(await cluster.api.get(path)).toEqual(before);
}

describe.each(OWN)('of %s the coordinator', (path, content) => {
  test('may change the content', async () => {
    expect((await sent('PATCH', path, content)).status).toBe(200);
    const object = await cluster.api.get<KubeObject>(path);
    expect((await sent('PUT', path, object, 'application/json')).status).toBe(200);
  });

  test.each<[string, object]>([
    ['an owner', { ownerReferences: [OWNER] }],
    ['a finalizer', { finalizers: ['example.com/x'] }],
    ['a label', { labels: { x: 'y' } }],
    ['an annotation', { annotations: { 'kubernetes.io/service-account.name': 'default' } }],
    ['an empty annotation', { annotations: { 'kubernetes.io/service-account.name': '' } }],
    ['an empty label', { labels: { x: '' } }],
    ['the entry of another field manager', { managedFields: [forged('helm', 'f:data')] }],
    ['an entry of its own for what is not there', { managedFields: [forged('rollcall', 'f:metadata')] }],
    ['no entries', { managedFields: [{}] }],
  ])('may not give it %s', async (_what, metadata) => {
    await unchanged(path, () => sent('PATCH', path, { metadata }));
  });

  test('may not put in another key without a value', async () => {
    const object = await cluster.api.get<KubeObject & Record<string, object>>(path);
    const [field = ''] = Object.keys(content);
    const values = field === 'data' ? [null, ''] : [null];
    for (const value of values) {
      const body = { ...object, [field]: { ...object[field], token: value } };
      await unchanged(path, () => sent('PUT', path, body, 'application/json'));
    }
  });

  test('may not delete it, or make another', async () => {
    await unchanged(path, () => sent('DELETE', path));
    const name = `${path}-2`.split('/').at(-1);
    const collection = path.slice(0, path.lastIndexOf('/'));
    expect((await sent('POST', collection, { metadata: { name } }, 'application/json')).status).toBe(422);
    expect((await sent('DELETE', collection)).status).not.toBe(200);
    await cluster.api.get(path);
  });
});

describe('the coordinator may not', () => {
  test.each<[string, string, object]>([
    ['put another key into its Secret', SECRET, { data: { token: 'eA==' } }],
    ['make its Secret immutable', SECRET, { immutable: true }],
    ['put a large value into its Secret', SECRET, { data: { 'ca.crt': Buffer.alloc(40_000).toString('base64') } }],
    ['put another key into its ConfigMap', CONFIG_MAP, { data: { 'ca.key': 'x' } }],
    ['put bytes into its ConfigMap', CONFIG_MAP, { binaryData: { 'ca.crt': 'eA==' } }],
    ['put a large value into its Lease', LEASE, { spec: { holderIdentity: 'x'.repeat(10_000) } }],
    ['put another field into its Lease', LEASE, { spec: { strategy: 'OldestEmulationVersion', preferredHolder: 'x' } }],
  ])('%s', (_what, path, body) => unchanged(path, () => sent('PATCH', path, body)));

  test('make its Secret or ConfigMap anew, of whatever type', async () => {
    await cluster.api.delete(SECRET);
    await cluster.api.delete(CONFIG_MAP);
    const annotations = { 'kubernetes.io/service-account.name': 'rollcall-coordinator' };
    const types = [{ type: 'kubernetes.io/service-account-token', metadata: { annotations } }, { type: 'Opaque' }, {}];
    for (const more of types) expect((await apply(SECRET, more)).status).toBe(422);
    expect((await apply(CONFIG_MAP, {})).status).toBe(422);
    for (const path of [SECRET, CONFIG_MAP])
      await cluster.api.post(path.slice(0, path.lastIndexOf('/')), { metadata: { name: path.split('/').at(-1) } });
  });

  test('make its Lease anew with an owner, a label or a finalizer', async () => {
    await cluster.api.delete(LEASE);
    for (const metadata of [
      { ownerReferences: [OWNER] },
      { labels: { a: 'b' } },
      { finalizers: ['a.io/b'] },
      { annotations: { a: 'b' } },
    ])
      expect((await apply(LEASE, { metadata })).status).toBe(422);
    expect((await apply(LEASE, { metadata: { labels: { 'app.kubernetes.io/managed-by': 'rollcall' } } })).status).toBe(
      201,
    );
  });
});

describe.each(WITH_STATUS)('of %s the coordinator', (path, status) => {
  test('may change the status', async () => {
    expect((await sent('PATCH', `${path}/status`, status)).status).toBe(200);
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'A', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ];
    expect((await sent('PATCH', `${path}/status`, { status: { conditions } })).status).toBe(200);
  });

  test.each<[string, object]>([
    ['an empty annotation', { annotations: { 'kubernetes.io/service-account.name': '' } }],
    ['an empty label', { labels: { x: '' } }],
    ['the entry of another field manager', { managedFields: [forged('kubectl-create', 'f:spec')] }],
    ['an entry of its own for the spec', { managedFields: [forged('rollcall', 'f:spec')] }],
    ['an entry for what is not there', { managedFields: [forged('rollcall', 'f:status', { subresource: 'status' })] }],
    ['an entry under another subresource', { managedFields: [forged('rollcall', 'f:status', { subresource: 'x' })] }],
    ['no entries', { managedFields: [{}] }],
  ])('may not give it %s with its status', async (_what, { managedFields: more }: { managedFields?: object[] }) => {
    const { managedFields = [] } = (await cluster.api.get(path)).metadata as { managedFields?: object[] };
    for (const entries of [more ?? [], [...managedFields, ...(more ?? [])]])
      await unchanged(path, () => sent('PATCH', `${path}/status`, { metadata: { managedFields: entries } }));
  });

  test('may change nothing else of it', async () => {
    await unchanged(path, () => sent('PATCH', path, { metadata: { labels: { a: 'b' } } }));
    await unchanged(path, () => sent('PATCH', path, { metadata: { ownerReferences: [OWNER] } }));
    await unchanged(path, () => sent('DELETE', path));
  });
});
