import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiClient, PatchType } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import {
  admissionKnows,
  applyCrd,
  applyDeployed,
  MANAGED,
  POOL,
  type PoolCluster,
  poolLabelSet,
  poolsPath,
  readNode,
  refusalOf,
  register,
  startPoolCluster,
} from './pool-cluster.ts';

const WS_DAEMON = 'gitpod.io/ws-daemon_ready_ns_default';
const HOLD = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
const STARTUP_TAINT = { key: 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall', effect: 'NoSchedule' };
const NOT_READY_TAINT = { key: 'gitpod.io/ws-daemon-not-ready', value: 'true', effect: 'NoSchedule' };
const FOREIGN_TAINT = { key: 'dedicated', value: 'x', effect: 'NoSchedule' };

let cluster: PoolCluster;
let coordinator: ApiClient;

beforeAll(async () => {
  cluster = await startPoolCluster();
  ({ coordinator } = cluster);
  await applyCrd(cluster);
  const { api } = cluster;
  await api.post(poolsPath(), poolLabelSet('gold', { tier: 'gold', size: 'xl', late: '1' }));
  const annotations = { [MANAGED]: '["tier","gone","x.kubernetes.io/old"]', mine: '1' };
  const labels = { tier: 'gold', gone: '1', 'x.kubernetes.io/old': '1', person: '1', 'node-role.kubernetes.io/x': '' };
  const taints = [NOT_READY_TAINT, FOREIGN_TAINT, STARTUP_TAINT];
  await register(
    api,
    'pooled',
    { ...labels, [POOL]: 'gold' },
    { annotations, spec: { taints, podCIDR: '10.1.0.0/24' } },
  );
  await register(api, 'left', { ...labels }, { annotations, spec: { taints } });
  await register(api, 'untold', { [POOL]: 'no-set', person: '1' });
  await applyDeployed(cluster, 'policies');
  await admissionKnows(cluster, 'gold', ['late', '1']);
  const isFenced = (name: string, labels: object) => refusalOf(coordinator, name, { metadata: { labels } });
  await waitFor('the fence', () => isFenced('left', { foreign: '1' }));
  await waitFor('the fence for pools', () => isFenced('pooled', { foreign: '1' }));
});
afterAll(() => cluster?.stop());

const merge = (metadata: object, more: object = {}) => ({ metadata, ...more });
const label = (key: string, value: string | null) => merge({ labels: { [key]: value } });
const annotation = (key: string, value: string | null) => merge({ annotations: { [key]: value } });

function applied(name: string, metadata: object): Promise<string | undefined> {
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, ...metadata } };
  return refusalOf(
    coordinator,
    name,
    body,
    'application/apply-patch+yaml',
    'fieldManager=rollcall&force=true&dryRun=All',
  );
}

async function taintsOf(name: string): Promise<NonNullable<NodeObject['spec']['taints']>> {
  return (await readNode(cluster, name)).spec.taints ?? [];
}

/** A JSON patch that takes a taint off, as the writer makes it. */
async function withoutTaint(name: string, key: string): Promise<object[]> {
  const index = (await taintsOf(name)).findIndex((taint) => taint.key === key);
  return [
    { op: 'test', path: `/spec/taints/${index}/key`, value: key },
    { op: 'remove', path: `/spec/taints/${index}` },
  ];
}

const JSON_PATCH: PatchType = 'application/json-patch+json';

describe('the coordinator may', () => {
  test.each([
    ['set a readiness label', 'pooled', label(WS_DAEMON, 'true')],
    ['set one on a node in no pool', 'left', label(WS_DAEMON, 'true')],
    ['hold a node', 'pooled', annotation(HOLD, 'true')],
    ['name a device on USB', 'left', label('feature.node.kubernetes.io/usb-ef_046d_082d.present', 'true')],
    ['name a device on PCI', 'left', label('feature.node.kubernetes.io/pci-0300_1a03.present', 'true')],
    ['name a device in the device tree', 'left', label('beta.devicetree.org/fsl-imx8mm', '1')],
    ['name an accelerator', 'left', label('accelerators/edgetpu', 'true')],
    ['set a label of the pool', 'pooled', label('size', 'xl')],
    [
      'list a label of the pool in the same request',
      'pooled',
      merge({ labels: { size: 'xl', gone: null }, annotations: { [MANAGED]: '["size","tier"]' } }),
    ],
    ['remove what was listed', 'pooled', label('gone', null)],
    ['remove it from a node that left its pool', 'left', merge({ labels: { gone: null, tier: null } })],
    ['remove the list', 'left', annotation(MANAGED, null)],
    ['shorten the list', 'left', annotation(MANAGED, '["tier"]')],
    ['change nothing', 'pooled', label('person', '1')],
  ])('%s', async (_what, name, body) => expect(await refusalOf(coordinator, name, body)).toBeUndefined());

  test('apply everything in one request', async () => {
    const labels = { [WS_DAEMON]: 'true', tier: 'gold', size: 'xl' };
    const annotations = { [HOLD]: 'true', [MANAGED]: '["size","tier"]' };
    expect(await applied('pooled', { labels, annotations })).toBeUndefined();
  });

  test('put its taint on a node, and take it off', async () => {
    const other = { ...NOT_READY_TAINT, key: 'gitpod.io/registry-facade-not-ready' };
    const add = [{ op: 'add', path: '/spec/taints/-', value: other }];
    expect(await refusalOf(coordinator, 'pooled', add, JSON_PATCH)).toBeUndefined();
    const remove = await withoutTaint('pooled', NOT_READY_TAINT.key);
    expect(await refusalOf(coordinator, 'pooled', remove, JSON_PATCH)).toBeUndefined();
  });

  test('take the startup taint off', async () => {
    const remove = await withoutTaint('pooled', STARTUP_TAINT.key);
    expect(await refusalOf(coordinator, 'pooled', remove, JSON_PATCH)).toBeUndefined();
  });

  test('give up a label that nobody else has, also when it is not listed', async () => {
    const apply = (labels: object) => {
      const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'alone', labels } };
      return refusalOf(coordinator, 'alone', body, 'application/apply-patch+yaml', 'fieldManager=rollcall');
    };
    await cluster.api.post(poolsPath(), poolLabelSet('alone', { person: '1' }));
    await admissionKnows(cluster, 'alone', ['person', '1']);
    await register(cluster.api, 'alone', { [POOL]: 'alone', person: '1' });
    expect(await apply({ size: 'xl', person: '1' })).toContain('does not ask for the labels size=xl');
    await cluster.api.patch(`${poolsPath()}/alone`, { spec: { labels: { size: 'xl' } } });
    await admissionKnows(cluster, 'alone', ['size', 'xl']);
    expect(await apply({ size: 'xl', person: '1' })).toBeUndefined();
    expect(await refusalOf(coordinator, 'alone', label('person', null))).toContain('may not change the labels person');
    expect(await apply({})).toBeUndefined();
    expect((await readNode(cluster, 'alone')).metadata.labels).toEqual({ [POOL]: 'alone', person: '1' });
  });

  test('swap the labels when the node is in another pool', async () => {
    await cluster.api.post(poolsPath(), poolLabelSet('lead', { tier: 'lead', heavy: '1' }));
    await admissionKnows(cluster, 'lead', ['heavy', '1']);
    await register(cluster.api, 'moved', { [POOL]: 'gold' });
    await cluster.api.patch('/api/v1/nodes/moved', label(POOL, 'lead'));
    const gone = merge({ labels: { size: null, late: null } });
    expect(await refusalOf(coordinator, 'moved', gone, undefined, '')).toBeUndefined();
    const labels = { tier: 'lead', heavy: '1' };
    expect(await applied('moved', { labels, annotations: { [MANAGED]: '["heavy","tier"]' } })).toBeUndefined();
    expect(await applied('moved', { labels: { ...labels, size: 'xl' } })).toContain('does not ask for');
  });

  test('write 500 labels of a pool, and remove them', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key-${index}`, `${index}`]));
    await cluster.api.post(poolsPath(), poolLabelSet('large', {}));
    await register(cluster.api, 'large', { [POOL]: 'large' });
    await cluster.api.patch(`${poolsPath()}/large`, { spec: { labels: many } });
    await admissionKnows(cluster, 'large', ['key-499', '499']);
    const annotations = { [MANAGED]: JSON.stringify(Object.keys(many)) };
    const set = merge({ labels: many, annotations });
    expect(await refusalOf(coordinator, 'large', set, undefined, '')).toBeUndefined();
    await cluster.api.patch(`${poolsPath()}/large`, [{ op: 'replace', path: '/spec/labels', value: {} }], JSON_PATCH);
    await admissionKnows(cluster, 'large', ['key-499', undefined]);
    const none = Object.fromEntries(Object.keys(many).map((key) => [key, null]));
    const unset = merge({ labels: none, annotations: { [MANAGED]: null } });
    expect(await refusalOf(coordinator, 'large', unset, undefined, '')).toBeUndefined();
  });
});

test('one more label of a pool of 1,000 can be listed, and a label of a person not', async () => {
  const thousand = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key-${index}`, '1']));
  const annotations = { [MANAGED]: JSON.stringify(Object.keys(thousand)) };
  await register(cluster.api, 'huge', { [POOL]: 'huge', ...thousand }, { annotations });
  await cluster.api.post(poolsPath(), poolLabelSet('huge', { ...thousand, more: '1' }));
  await admissionKnows(cluster, 'huge', ['more', '1']);
  const listing = (key: string) => annotation(MANAGED, JSON.stringify([...Object.keys(thousand), key]));
  expect(await refusalOf(coordinator, 'huge', listing('more'))).toBeUndefined();
  expect(await refusalOf(coordinator, 'huge', listing('person'))).toContain('labels to list: person');
});

describe('a list that nobody can read', () => {
  test.each([
    ['odd', '{"a":["\\"]'],
    ['double', '["tier","tier"]'],
    ['pretty', '[\n\t"tier",\r\n  "x"\n]'],
    ['long', JSON.stringify(Array.from({ length: 20_000 }, (_, index) => `k${index}`))],
  ])('does not keep the coordinator from anything else: %s', async (name, list) => {
    await register(cluster.api, name, { [POOL]: 'gold', [WS_DAEMON]: 'true' }, { annotations: { [MANAGED]: list } });
    expect(await refusalOf(coordinator, name, label(WS_DAEMON, null), undefined, '')).toBeUndefined();
    expect(await refusalOf(coordinator, name, annotation(MANAGED, '["tier"]'), undefined, '')).toBeUndefined();
  });
});

describe('the coordinator may not', () => {
  test.each([
    ['set a foreign label', label('foreign', '1'), 'does not ask for the labels foreign=1'],
    ['set another value than the pool asks for', label('size', 'xs'), 'does not ask for the labels size=xs'],
    ['remove the label of a person', label('person', null), 'may not change the labels person'],
    ['remove a label of the pool that is not listed', label(POOL, null), `may not change the labels ${POOL}`],
    ['put a node into another pool', label(POOL, 'lead'), `labels ${POOL}`],
    ['put a node into a pool by another label', label('agentpool', 'x'), 'labels agentpool'],
    ['give a node a role', label('node-role.kubernetes.io/control-plane', ''), 'labels node-role'],
    ['take a role', label('node-role.kubernetes.io/x', null), 'may not change the labels node-role'],
    ['remove a reserved label that is listed', label('x.kubernetes.io/old', null), 'may not change the labels x.kub'],
    ['set another label of NFD', label('feature.node.kubernetes.io/cpu-x', '1'), 'labels feature'],
    ['list what the pool does not ask for', annotation(MANAGED, '["person"]'), 'labels to list: person'],
    ['set a foreign annotation', annotation('foreign', '1'), 'may not change the annotations foreign'],
    ['remove a foreign annotation', annotation('mine', null), 'may not change the annotations mine'],
    ['close a node', merge({}, { spec: { unschedulable: true } }), 'may not change the spec'],
    ['name a machine', merge({}, { spec: { providerID: 'x://1' } }), 'may not change the spec'],
    ['set a finalizer', merge({ finalizers: ['a.io/b'] }), 'may not change owners or finalizers'],
    [
      'give a node an owner',
      merge({ ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'rollcall', uid: 'x' }] }),
      'may not change owners or finalizers',
    ],
    ['erase managedFields', merge({ managedFields: [{}] }), 'may not erase managedFields'],
    ['erase all taints', merge({}, { spec: { taints: null } }), 'may not change the taints of others'],
  ])('%s', async (_what, body, problem) => expect(await refusalOf(coordinator, 'pooled', body)).toContain(problem));

  test.each([
    ['set a label of a pool', label('tier', 'lead'), 'may not change the labels tier'],
    ['remove what is not listed', label('person', null), 'may not change the labels person'],
    ['list more, to remove it then', annotation(MANAGED, '["tier","person"]'), 'may not list the labels person'],
  ])('%s on a node in no pool', async (_what, body, problem) =>
    expect(await refusalOf(coordinator, 'left', body)).toContain(problem),
  );

  test('remove the label of a person on a node whose pool has no NodePoolLabelSet', async () => {
    expect(await refusalOf(coordinator, 'untold', label('person', null))).toContain('may not change the labels person');
  });

  test('apply a foreign label along with its own', async () => {
    expect(await applied('pooled', { labels: { [WS_DAEMON]: 'true', foreign: '1' } })).toContain('foreign=1');
    expect(await applied('left', { labels: { [WS_DAEMON]: 'true', foreign: '1' } })).toContain('labels foreign');
  });

  test('set or remove the taints of others, or gate a node', async () => {
    const add = (taint: object) => [{ op: 'add', path: '/spec/taints/-', value: taint }];
    const other = 'may not change the taints of others';
    expect(await refusalOf(coordinator, 'pooled', add({ ...FOREIGN_TAINT, key: 'x' }), JSON_PATCH)).toContain(other);
    const remove = await withoutTaint('pooled', FOREIGN_TAINT.key);
    expect(await refusalOf(coordinator, 'pooled', remove, JSON_PATCH)).toContain(other);
    expect(await refusalOf(coordinator, 'untold', add(STARTUP_TAINT), JSON_PATCH)).toContain(other);
  });

  test('forge managedFields, to erase those of others or to remove what they set', async () => {
    for (const name of ['pooled', 'left']) {
      const { managedFields } = (await readNode(cluster, name)).metadata as { managedFields?: object[] };
      const entry = { operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1' };
      const forged = { ...entry, manager: 'rollcall', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:person': {} } } } };
      const dummy = { ...entry, manager: 'x', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:tier': {} } } } };
      const erased = await refusalOf(coordinator, name, merge({ managedFields: [dummy] }));
      expect(erased).toContain('may not erase managedFields');
      const added = await refusalOf(coordinator, name, merge({ managedFields: [...(managedFields ?? []), forged] }));
      expect(added).toMatch(/own the labels of others|to be owned/);
    }
  });

  test('add its taints with an effect that evicts', async () => {
    const value = { ...NOT_READY_TAINT, key: 'gitpod.io/registry-facade-not-ready', effect: 'NoExecute' };
    const add = [{ op: 'add', path: '/spec/taints/-', value }];
    expect(await refusalOf(coordinator, 'pooled', add, JSON_PATCH)).toContain('NoSchedule only');
  });

  test('make or delete nodes, or write their status, whatever rights it is given by mistake', async () => {
    const group = '/apis/rbac.authorization.k8s.io/v1';
    const [rules, verbs] = [
      [{ apiGroups: [''], resources: ['nodes', 'nodes/status'], verbs: ['*'] }],
      { name: 'more' },
    ];
    const subjects = [{ kind: 'ServiceAccount', name: 'rollcall-coordinator', namespace: 'rollcall' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'more' };
    await cluster.api.post(`${group}/clusterroles`, { metadata: verbs, rules });
    await cluster.api.post(`${group}/clusterrolebindings`, { metadata: verbs, roleRef, subjects });
    const only = 'rollcall may change Nodes, and neither make nor delete them';
    await waitFor('the rights', async () =>
      (await register(coordinator, 'made', {}, { dryRun: true }).catch(String)).toString().includes(only),
    );
    await expect(coordinator.delete('/api/v1/nodes/pooled?dryRun=All')).rejects.toThrow(only);
    await expect(coordinator.patch('/api/v1/nodes/pooled/status?dryRun=All', label(WS_DAEMON, 'true'))).rejects.toThrow(
      only,
    );
  });
});

describe('others', () => {
  test('are not held by the fence', async () => {
    const body = merge({ labels: { foreign: '1', person: null } }, { spec: { unschedulable: true } });
    expect(await refusalOf(cluster.api, 'pooled', body)).toBeUndefined();
  });
});

describe('a NodePoolLabelSet that has just changed', () => {
  test('is known to the fence when the coordinator hears of it, or a moment later', async () => {
    await cluster.api.post(poolsPath(), poolLabelSet('quick', { n: '0' }));
    await admissionKnows(cluster, 'quick', ['n', '0']);
    await register(cluster.api, 'quick', { [POOL]: 'quick' });
    for (let n = 1; n <= 20; n++) {
      await cluster.api.patch(`${poolsPath()}/quick`, { spec: { labels: { n: `${n}` } } });
      const isTaken = async () =>
        (await refusalOf(coordinator, 'quick', label('n', `${n}`), undefined, '')) === undefined;
      await waitFor('the label to be taken', isTaken, { everyMs: 1, timeoutMs: 5000 });
    }
  });
});
