import { IDENTITY_LABELS } from '@rollcall/common/pool-labels.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiClient, PatchType } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { installFence } from '../../rig/fence.ts';
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
/** Taint of a deleted service, which the node lists. */
const OLD_TAINT = { key: 'example.com/old-not-ready', value: 'true', effect: 'NoSchedule' };
const RESERVED_TAINT = { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' };
const KEYS = 'rollcall.dev/keys';
const SERVICE_KEYS = 'rollcall.dev/service-keys';
const IMPLIED = 'rollcall.dev/implied-labels';
const listOf = (...ids: readonly string[]) =>
  JSON.stringify(Object.fromEntries(ids.toSorted().map((id) => [id, 'service:u'])));
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
  await register(
    api,
    'served',
    { 'example.com/old': 'true' },
    {
      annotations: {
        [KEYS]: listOf('label:example.com/old', `taint:${OLD_TAINT.key}`, `taint:${RESERVED_TAINT.key}`),
      },
      spec: { taints: [OLD_TAINT, RESERVED_TAINT, FOREIGN_TAINT] },
    },
  );
  await register(
    api,
    'earlier',
    { [POOL]: 'gold', 'x.kubernetes.io/old': '1', 'example.com/old': 'true', 'example.com/rule': '' },
    {
      annotations: {
        [MANAGED]: '["x.kubernetes.io/old"]',
        [SERVICE_KEYS]: `{"labels":["example.com/old"],"taints":["${OLD_TAINT.key}"]}`,
        [IMPLIED]: '["example.com/rule"]',
      },
      spec: { taints: [OLD_TAINT] },
    },
  );
  await applyDeployed(cluster, 'policies');
  await admissionKnows(cluster, 'gold', ['late', '1']);
  const isFenced = (name: string, labels: object) => refusalOf(coordinator, name, { metadata: { labels } });
  await waitFor('the fence', () => isFenced('left', { foreign: '1' }));
});
afterAll(() => cluster?.stop());

/** Sets a label that the same request lists. */
const own = (key: string, value: string) =>
  merge({ labels: { [key]: value }, annotations: { [KEYS]: listOf(`label:${key}`) } });
const merge = (metadata: object, more: object = {}) => ({ metadata, ...more });
const label = (key: string, value: string | null) => merge({ labels: { [key]: value } });
const annotation = (key: string, value: string | null) => merge({ annotations: { [key]: value } });
const listing = (labels: object, keys: readonly string[]) =>
  merge({ labels, annotations: { [MANAGED]: JSON.stringify(keys) } });

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
    ['name a device on USB', 'left', own('feature.node.kubernetes.io/usb-ef_046d_082d.present', 'true')],
    ['name a device on PCI', 'left', own('feature.node.kubernetes.io/pci-0300_1a03.present', 'true')],
    ['name a device in the device tree', 'left', own('beta.devicetree.org/fsl-imx8mm', '1')],
    ['name an accelerator', 'left', own('accelerators/edgetpu', 'true')],
    ['change what it has listed', 'pooled', label('tier', 'silver')],
    [
      'set a label of the pool that it lists in the same request',
      'pooled',
      merge({ labels: { size: 'xl', gone: null }, annotations: { [MANAGED]: '["size","tier"]' } }),
    ],
    ['do so on a node whose pool has no NodePoolLabelSet', 'untold', listing({ size: 'xl' }, ['size'])],
    ['list what it has listed already', 'left', annotation(MANAGED, '["gone", "tier"]')],
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
    expect(await refusalOf(coordinator, 'pooled', add, JSON_PATCH)).toContain('may only add taints that it lists');
    const list = {
      op: 'add',
      path: `/metadata/annotations/${KEYS.replace('/', '~1')}`,
      value: listOf(`taint:${other.key}`),
    };
    expect(await refusalOf(coordinator, 'pooled', [...add, list], JSON_PATCH)).toBeUndefined();
    const remove = await withoutTaint('pooled', NOT_READY_TAINT.key);
    expect(await refusalOf(coordinator, 'pooled', remove, JSON_PATCH)).toBeUndefined();
  });

  test('remove the keys that the node lists for a service, and list its own', async () => {
    const remove = await withoutTaint('served', OLD_TAINT.key);
    expect(await refusalOf(coordinator, 'served', remove, JSON_PATCH)).toBeUndefined();
    expect(await refusalOf(coordinator, 'served', label('example.com/old', null))).toBeUndefined();
    const keys = listOf(`label:${WS_DAEMON}`, `taint:${OLD_TAINT.key}`);
    for (const list of [keys, null]) {
      expect(await refusalOf(coordinator, 'served', annotation(KEYS, list))).toBeUndefined();
    }
  });

  test('take over what earlier versions listed, whatever its prefixes are now', async () => {
    const ids = [
      'label:x.kubernetes.io/old',
      'label:example.com/old',
      'label:example.com/rule',
      `taint:${OLD_TAINT.key}`,
    ];
    const annotations = { [KEYS]: listOf(...ids), [SERVICE_KEYS]: null, [IMPLIED]: null };
    expect(await refusalOf(coordinator, 'earlier', merge({ annotations }))).toBeUndefined();
    const remove = await withoutTaint('earlier', OLD_TAINT.key);
    expect(await refusalOf(coordinator, 'earlier', remove, JSON_PATCH)).toBeUndefined();
    expect(await refusalOf(coordinator, 'earlier', label('example.com/rule', null))).toBeUndefined();
  });

  test('take the startup taint off', async () => {
    const remove = await withoutTaint('pooled', STARTUP_TAINT.key);
    expect(await refusalOf(coordinator, 'pooled', remove, JSON_PATCH)).toBeUndefined();
  });

  test('give up a label that no other field manager owns, also when it is not listed', async () => {
    const apply = (labels: object, annotations: object = {}) => {
      const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'alone', labels, annotations } };
      return refusalOf(coordinator, 'alone', body, 'application/apply-patch+yaml', 'fieldManager=rollcall');
    };
    await register(cluster.api, 'alone', { [POOL]: 'alone', person: '1' });
    expect(await apply({ size: 'xl' })).toContain('may not change the labels size');
    expect(await apply({ size: 'xl' }, { [MANAGED]: '["size"]' })).toBeUndefined();
    await cluster.api.patch('/api/v1/nodes/alone', annotation(MANAGED, null));
    expect(await refusalOf(coordinator, 'alone', label('person', null))).toContain('may not change the labels person');
    expect(await refusalOf(coordinator, 'alone', annotation(MANAGED, '["size"]'))).toBeUndefined();
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
    const annotations = { [MANAGED]: '["heavy","tier"]' };
    expect(await applied('moved', { labels, annotations })).toBeUndefined();
    const more = await applied('moved', { labels: { ...labels, size: 'xl' }, annotations });
    expect(more).toContain('may not change the labels size');
  });

  test('write 500 labels of a pool, and remove them', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key-${index}`, `${index}`]));
    await register(cluster.api, 'large', { [POOL]: 'large' });
    const annotations = { [MANAGED]: JSON.stringify(Object.keys(many)) };
    const set = merge({ labels: many, annotations });
    expect(await refusalOf(coordinator, 'large', set, undefined, '')).toBeUndefined();
    const none = Object.fromEntries(Object.keys(many).map((key) => [key, null]));
    const unset = merge({ labels: none, annotations: { [MANAGED]: null } });
    expect(await refusalOf(coordinator, 'large', unset, undefined, '')).toBeUndefined();
  });
});

test('one more label of a pool of 900 can be listed, and a label of a person not', async () => {
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`key-${index}`, '1']));
  const annotations = { [MANAGED]: JSON.stringify(Object.keys(many)) };
  await register(cluster.api, 'huge', { [POOL]: 'huge', person: '1', ...many }, { annotations });
  const more = (key: string) => listing({ [key]: '1' }, [...Object.keys(many), key]);
  expect(await refusalOf(coordinator, 'huge', more('more'))).toBeUndefined();
  expect(await refusalOf(coordinator, 'huge', more('person'))).toContain('may not list the labels person');
});

describe('a list that cannot be read', () => {
  test.each([
    ['odd', '{"a":["\\"]'],
    ['double', '["tier","tier"]'],
    ['pretty', '[\n\t"tier",\r\n  "x"\n]'],
    // What else its pool requests does not fit beside it.
    ['long', JSON.stringify(Array.from({ length: 20_000 }, (_, index) => `k${index}`)), '["k1"]'],
  ])('does not keep the coordinator from anything else: %s', async (name, list, shorter = '["tier"]') => {
    await register(cluster.api, name, { [POOL]: 'gold', [WS_DAEMON]: 'true' }, { annotations: { [MANAGED]: list } });
    expect(await refusalOf(coordinator, name, label(WS_DAEMON, null), undefined, '')).toBeUndefined();
    expect(await refusalOf(coordinator, name, annotation(MANAGED, shorter), undefined, '')).toBeUndefined();
  });
});

describe('the coordinator may not', () => {
  test.each([
    ['set a label that it does not list', label('foreign', '1'), 'may not change the labels foreign'],
    ['take what it sets off the list', listing({ tier: 'x' }, ['gone']), 'may not change the labels tier'],
    [
      'list the label of a person, to remove it then',
      annotation(MANAGED, '["person"]'),
      'may not list the labels person',
    ],
    ['list it and give it another value', listing({ person: '2' }, ['person']), 'labels person'],
    ['list it and remove it at once', listing({ person: null }, ['person']), 'may not change the labels person'],
    [
      'list what is not there, to have it later',
      annotation(MANAGED, '["tier","later"]'),
      'may not list the labels later',
    ],
    [
      'list a role and set it',
      listing({ 'node-role.kubernetes.io/y': '' }, ['node-role.kubernetes.io/y']),
      'labels node-role',
    ],
    ['list a pool and set it', listing({ agentpool: 'x' }, ['agentpool']), 'may not change the labels agentpool'],
    ['remove the label of a person', label('person', null), 'may not change the labels person'],
    ['remove a label of the pool that is not listed', label(POOL, null), `may not change the labels ${POOL}`],
    ['put a node into another pool', label(POOL, 'lead'), `labels ${POOL}`],
    ['put a node into a pool by another label', label('agentpool', 'x'), 'labels agentpool'],
    ['give a node a role', label('node-role.kubernetes.io/control-plane', ''), 'labels node-role'],
    ['take a role', label('node-role.kubernetes.io/x', null), 'may not change the labels node-role'],
    ['remove a reserved label that is listed', label('x.kubernetes.io/old', null), 'may not change the labels x.kub'],
    ['set another label of NFD', label('feature.node.kubernetes.io/cpu-x', '1'), 'labels feature'],
    ['set a foreign annotation', annotation('foreign', '1'), 'may not change the annotations foreign'],
    ['list anything as earlier versions did', annotation(SERVICE_KEYS, '{"taints":["dedicated"]}'), SERVICE_KEYS],
    ['remove a foreign annotation', annotation('mine', null), 'may not change the annotations mine'],
    ['close a node', merge({}, { spec: { unschedulable: true } }), 'may not change the spec'],
    ['name a machine', merge({}, { spec: { providerID: 'x://1' } }), 'may not change the spec'],
    ['set a finalizer', merge({ finalizers: ['a.io/b'] }), 'may not change owners or finalizers'],
    [
      'give a node an owner',
      merge({ ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'rollcall', uid: 'x' }] }),
      'may not change owners or finalizers',
    ],
    ['erase managedFields', merge({ managedFields: [{}] }), 'may not change what other field managers own'],
    ['erase all taints', merge({}, { spec: { taints: null } }), 'may not change the taints of others'],
  ])('%s', async (_what, body, problem) => expect(await refusalOf(coordinator, 'pooled', body)).toContain(problem));

  test.each([
    ['set a label of a pool', label('tier', 'lead'), 'may not change the labels tier'],
    ['remove what is not listed', label('person', null), 'may not change the labels person'],
    ['set one that it lists', listing({ new: '1' }, ['new']), 'may not change the labels new'],
    ['list more, to remove it then', annotation(MANAGED, '["tier","person"]'), 'may not list the labels person'],
  ])('%s on a node in no pool', async (_what, body, problem) =>
    expect(await refusalOf(coordinator, 'left', body)).toContain(problem),
  );

  test('remove the label of a person on a node whose pool has no NodePoolLabelSet', async () => {
    expect(await refusalOf(coordinator, 'untold', label('person', null))).toContain('may not change the labels person');
  });

  test('apply a foreign label along with its own', async () => {
    expect(await applied('pooled', { labels: { [WS_DAEMON]: 'true', foreign: '1' } })).toContain('labels foreign');
    expect(await applied('left', { labels: { [WS_DAEMON]: 'true', foreign: '1' } })).toContain('labels foreign');
  });

  test('set or remove the taints of others, or gate a node', async () => {
    const add = (taint: object) => [{ op: 'add', path: '/spec/taints/-', value: taint }];
    const other = 'may not change the taints of others';
    expect(await refusalOf(coordinator, 'pooled', add({ ...FOREIGN_TAINT, key: 'x' }), JSON_PATCH)).toContain(other);
    const remove = await withoutTaint('pooled', FOREIGN_TAINT.key);
    expect(await refusalOf(coordinator, 'pooled', remove, JSON_PATCH)).toContain(other);
    expect(await refusalOf(coordinator, 'untold', add(STARTUP_TAINT), JSON_PATCH)).toContain(other);
    expect(await refusalOf(coordinator, 'untold', add(OLD_TAINT), JSON_PATCH)).toContain(other);
    const reserved = await withoutTaint('served', RESERVED_TAINT.key);
    expect(await refusalOf(coordinator, 'served', reserved, JSON_PATCH)).toContain(other);
  });

  test.each(['{"taint:dedicated":"service:u"}', '{"label:person":"pool"}'])(
    'list the keys of others as keys of its services, to remove them then: %s',
    async (list) => {
      expect(await refusalOf(coordinator, 'served', annotation(KEYS, list))).toContain('may not list the keys');
    },
  );

  test.each([
    ['an escape in a key', '{"label:\\u0070erson":"pool"}'],
    ['an escape in what says that it is a key', '{"\\u006cabel:person":"pool"}'],
    ['an escape in an origin', '{"label:gone":"poo\\u006c"}'],
    ['a list', '["label:person"]'],
    ['spaces', '{ "label:gone": "pool" }'],
    ['a line feed', '{"label:gone":"pool"}\n'],
    ['no order', '{"taint:a":"service:u","label:gone":"pool"}'],
    ['an object in it', '{"label:gone":{"label:person":"pool"}}'],
    ['another kind of key', '{"annotation:mine":"pool"}'],
    ['no end', '{"label:gone":"pool",}'],
  ])('write its list with %s', async (_what, list) => {
    expect(await refusalOf(coordinator, 'pooled', annotation(KEYS, list))).toContain('only as it writes it itself');
  });

  test.each(IDENTITY_LABELS.filter((key) => key !== POOL))(
    'set %s, which identifies a pool or a node, on a node that another label assigns to a pool',
    async (key) => {
      for (const body of [listing({ [key]: 'x' }, [key]), own(key, 'true')])
        expect(await refusalOf(coordinator, 'pooled', body)).toContain(`labels ${key}`);
    },
  );

  test('take off what the node does not list', async () => {
    const foreign = await withoutTaint('served', FOREIGN_TAINT.key);
    expect(await refusalOf(coordinator, 'served', foreign, JSON_PATCH)).toContain(
      'may not change the taints of others',
    );
  });

  test('forge managedFields, to erase the entries of others or to remove what they set', async () => {
    for (const name of ['pooled', 'left']) {
      const { managedFields } = (await readNode(cluster, name)).metadata as { managedFields?: object[] };
      const entry = { operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1' };
      const forged = { ...entry, manager: 'rollcall', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:person': {} } } } };
      const dummy = { ...entry, manager: 'x', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:tier': {} } } } };
      const erased = await refusalOf(coordinator, name, merge({ managedFields: [dummy] }));
      expect(erased).toContain('may not change what other field managers own');
      const added = await refusalOf(coordinator, name, merge({ managedFields: [...(managedFields ?? []), forged] }));
      expect(added).toContain('may not own the fields of others');
      const annotations = { [MANAGED]: '["gone","person","tier"]' };
      const listed = merge({ managedFields: [...(managedFields ?? []), forged], annotations });
      expect(await refusalOf(coordinator, name, listed)).toContain('may not list the labels person');
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
    const only = 'rollcall may change Nodes and its own objects, and neither make nor delete them';
    await waitFor('the rights', async () =>
      (await register(coordinator, 'made', {}, { dryRun: true }).catch(String)).toString().includes(only),
    );
    await expect(coordinator.delete('/api/v1/nodes/pooled?dryRun=All')).rejects.toThrow(only);
    await expect(coordinator.patch('/api/v1/nodes/pooled/status?dryRun=All', label(WS_DAEMON, 'true'))).rejects.toThrow(
      'rollcall may change nothing but conditions of the status of a Node',
    );
  });
});

describe('others', () => {
  test('are not held by the fence', async () => {
    const body = merge({ labels: { foreign: '1', person: null } }, { spec: { unschedulable: true } });
    expect(await refusalOf(cluster.api, 'pooled', body)).toBeUndefined();
  });
});

describe('with prefixes for the labels of pools', () => {
  beforeAll(async () => {
    await installFence(cluster.controlPlane, { poolPrefixes: ['tier', 'example.com/'] });
    await waitFor('the fence', () => refusalOf(coordinator, 'untold', listing({ size: 'xl' }, ['size'])));
  });

  test.each([
    ['set what begins so', 'untold', listing({ 'example.com/size': 'xl' }, ['example.com/size'])],
    ['remove what was listed before', 'pooled', label('gone', null)],
    ['set its own', 'untold', label(WS_DAEMON, 'true')],
  ])('the coordinator may %s', async (_what, name, body) =>
    expect(await refusalOf(coordinator, name, body)).toBeUndefined(),
  );

  test.each([
    ['set others', listing({ foreign: '1' }, ['foreign']), 'may not change the labels foreign'],
    ['change others that are listed', label('gone', '2'), 'may not change the labels gone'],
  ])('the coordinator may not %s', async (_what, body, problem) =>
    expect(await refusalOf(coordinator, 'pooled', body)).toContain(problem),
  );
});
