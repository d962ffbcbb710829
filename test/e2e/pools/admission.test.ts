import { DEFAULT_POOL_LABELS } from '@rollcall/common/pool-labels.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import {
  admissionKnows,
  applyCrd,
  applyDeployed,
  MANAGED,
  nodePoolLabels,
  POOL,
  type PoolCluster,
  poolLabelSet,
  poolLabelsPath,
  poolsPath,
  readNode,
  register,
  startPoolCluster,
} from './pool-cluster.ts';

/** A label and a value that no Node can have, reserved ones, and one that rollcall sets for another reason. */
const BAD_LABELS = {
  'bad key!': '1',
  'too-long': 'x'.repeat(75),
  'evil.k8s.io/x': '1',
  'NODE-ROLE.Kubernetes.IO/control-plane': '',
  'node-role.kubernetes.io/control-plane': '',
  'kubernetes.io/arch': 'vax',
  'k8s.io/x': '1',
  agentpool: 'other',
  'karpenter.sh/nodepool': 'other',
  [MANAGED]: 'none',
  'gitpod.io/ws-daemon_ready_ns_default': 'true',
};
const GOOD_LABELS = {
  tier: 'gold',
  empty: '',
  'node.banzaicloud.io/cpu': '1',
  'my-kubernetes.io/thing': '1',
  'a.io/k8s.io': '1',
};
const STARTUP_TAINT = { key: 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall', effect: 'NoSchedule' };

let cluster: PoolCluster;
let api: ApiClient;

beforeAll(async () => {
  cluster = await startPoolCluster();
  api = cluster.api;
  await makeBrokenSet();
  await applyDeployed(cluster, 'policies');
  await api.post(poolsPath(), poolLabelSet('pool1', { tier: 'gold', a: '1', 'b.io/c': '' }));
  await admissionKnows(cluster, 'pool1', ['tier', 'gold']);
});
afterAll(() => cluster?.stop());

/** A NodePoolLabelSet from before the keys and values were checked, as in a cluster that had the predecessor. */
async function makeBrokenSet(): Promise<void> {
  await applyCrd(cluster);
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepoollabelsets.labels.banzaicloud.io';
  const crd = await api.get<KubeObject & { spec: { versions: Record<string, unknown>[] } }>(path);
  const labels = { type: 'object', additionalProperties: { type: 'string' } };
  const spec = { type: 'object', required: ['labels'], properties: { labels } };
  const schema = { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec } } };
  const versions = [{ name: 'v1alpha1', served: true, storage: true, schema }];
  await api.put(path, { ...crd, spec: { ...crd.spec, versions } });
  const broken = poolLabelSet('broken', { ...GOOD_LABELS, ...BAD_LABELS });
  await waitFor('a NodePoolLabelSet that is not valid', () => api.post(poolsPath(), broken).catch(() => undefined));
  await api.post(poolsPath(), poolLabelSet('all-bad', BAD_LABELS));
  await applyDeployed(cluster, 'crds');
}

function listed({ metadata }: NodeObject): unknown {
  return JSON.parse(metadata.annotations?.[MANAGED] ?? 'null');
}

describe('a Node', () => {
  test.each(DEFAULT_POOL_LABELS)('has the labels of the pool that %s names from its creation on', async (key) => {
    const name = `by-${key.replace(/\W/g, '-')}`;
    const created = await register(api, name, { [key]: 'pool1', 'kubernetes.io/os': 'linux' });
    expect(created.metadata.labels).toEqual({
      [key]: 'pool1',
      'kubernetes.io/os': 'linux',
      tier: 'gold',
      a: '1',
      'b.io/c': '',
    });
    expect(created.metadata.annotations).toMatchObject({ [MANAGED]: '["a","b.io/c","tier"]' });
    expect(await readNode(cluster, name)).toEqual(created);
  });

  test('is in the pool that the first label with a value names', async () => {
    const labels = { [POOL]: '', 'cloud.google.com/gke-nodepool': 'pool1', agentpool: 'broken' };
    const { metadata } = await register(api, 'by-first', labels);
    expect(metadata.labels).toMatchObject({ tier: 'gold', a: '1' });
    expect(metadata.labels).not.toHaveProperty(['node.banzaicloud.io/cpu']);
  });

  test.each([{}, { [POOL]: 'unknown' }])('stays unchanged in no pool, or in an unknown one: %j', async (labels) => {
    const name = `plain-${Object.keys(labels).length}`;
    const { metadata } = await register(api, name, labels);
    expect(metadata.labels ?? {}).toEqual(labels);
    expect(metadata.annotations ?? {}).not.toHaveProperty([MANAGED]);
  });

  test('keeps what it says of itself, which is not listed as managed', async () => {
    const node = await register(api, 'own-labels', { [POOL]: 'pool1', tier: 'silver', a: '1' });
    expect(node.metadata.labels).toMatchObject({ tier: 'silver', a: '1', 'b.io/c': '' });
    expect(listed(node)).toEqual(['b.io/c']);
  });

  test('uses spec.pool of the NodePoolLabelSet if it is set, and the name otherwise', async () => {
    await api.post(poolsPath(), poolLabelSet('pool-two', { two: '2' }, { pool: 'Pool_2' }));
    await api.post(poolsPath(), poolLabelSet('pool-three', { three: '3' }, { pool: '' }));
    await admissionKnows(cluster, 'pool-three', ['three', '3']);
    await admissionKnows(cluster, 'Pool_2', ['two', '2']);
    const { metadata } = await register(api, 'by-name-only', { [POOL]: 'pool-two' });
    expect(metadata.labels).toEqual({ [POOL]: 'pool-two' });
  });

  test('has the labels of all NodePoolLabelSets for its pool, where there are several, each listed', async () => {
    await api.post(poolsPath(), poolLabelSet('shared', { x: '1', y: 'shared' }));
    await api.post(poolsPath(), poolLabelSet('shared-too', { y: 'too', z: '1' }, { pool: 'shared' }));
    await admissionKnows(cluster, 'shared', ['x', '1']);
    await admissionKnows(cluster, 'shared', ['z', '1']);
    const node = await register(api, 'of-both', { [POOL]: 'shared' });
    expect(node.metadata.labels).toMatchObject({ x: '1', z: '1', y: expect.stringMatching(/^(shared|too)$/) });
    expect(listed(node)).toEqual(['x', 'y', 'z']);
  });

  test('B-3: has nothing from a NodePoolLabelSet in another namespace', async () => {
    await api.post(poolsPath('default'), poolLabelSet('elsewhere', { tier: 'lead' }));
    await api.post(poolsPath(), poolLabelSet('later', { tier: 'tin' }));
    await admissionKnows(cluster, 'later', ['tier', 'tin']);
    const { metadata } = await register(api, 'elsewhere', { [POOL]: 'elsewhere' });
    expect(metadata.labels).toEqual({ [POOL]: 'elsewhere' });
  });

  test('follows a change and the end of a NodePoolLabelSet', async () => {
    await api.post(poolsPath(), poolLabelSet('moving', { tier: 'gold' }));
    await admissionKnows(cluster, 'moving', ['tier', 'gold']);
    await api.patch(`${poolsPath()}/moving`, { spec: { labels: { tier: 'silver' } } });
    await admissionKnows(cluster, 'moving', ['tier', 'silver']);
    await api.delete(`${poolsPath()}/moving`);
    await admissionKnows(cluster, 'moving', ['tier', undefined]);
  });

  test('can have a thousand labels of its pool', async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key-${index}`, `${index}`]));
    await api.post(poolsPath(), poolLabelSet('large', many));
    await admissionKnows(cluster, 'large', ['key-999', '999']);
    const node = await register(api, 'large', { [POOL]: 'large' });
    expect(node.metadata.labels).toEqual({ [POOL]: 'large', ...many });
    expect(listed(node)).toHaveLength(1000);
  });
});

describe('objects with more than fits on a Node', () => {
  const many = (count: number, start: string) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `${start}${'d'.repeat(230)}.io/${'n'.repeat(58)}-${1000 + index}`,
        'x',
      ]),
    );

  test.each<[string, (name: string, labels: object) => KubeObject, () => string]>([
    ['NodePoolLabels', nodePoolLabels, () => poolLabelsPath()],
    ['NodePoolLabelSet', poolLabelSet, () => poolsPath()],
  ])('are refused: %s', async (_kind, make, path) => {
    await expect(api.post(path(), make('heavy', many(870, 'a')))).rejects.toThrow('do not fit on a Node');
    const short = Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`k${index}`, '']));
    await expect(api.post(path(), make('heavy', short))).rejects.toThrow('must have at most 2000 items');
  });

  test('do not keep a kubelet from registering, though there are several, or they are older than the limit', async () => {
    const { controlPlane } = cluster;
    for (const resource of ['nodepoollabels.rollcall.dev', 'nodepoollabelsets.labels.banzaicloud.io']) {
      const labels = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/labels';
      const patch = ['maxProperties', 'x-kubernetes-validations'].map((field) => ({
        op: 'remove',
        path: `${labels}/${field}`,
      }));
      await controlPlane.kubectl(['patch', 'crd', resource, '--type=json', '-p', JSON.stringify(patch)]);
    }
    const heavy = nodePoolLabels('heavy-0', many(870, 'a'), { pool: 'heavy' });
    await waitFor('the CRD', () => api.post(poolLabelsPath(), heavy).catch(() => undefined));
    for (const index of [1, 2, 3])
      await api.post(
        poolLabelsPath(),
        nodePoolLabels(`heavy-${index}`, { last: 'x', ...many(250, `b${index}`) }, { pool: 'heavy' }),
      );
    await api.post(poolsPath(), poolLabelSet('heavy', many(250, 'c')));
    await admissionKnows(cluster, 'heavy', [Object.keys(many(1, 'c'))[0] ?? '', 'x']).catch(() => undefined);
    const kubelet = await controlPlane.clientFor({ user: 'system:node:heavy', groups: ['system:nodes'] });
    const { metadata } = await register(kubelet, 'heavy', { [POOL]: 'heavy', 'kubernetes.io/hostname': 'heavy' });
    kubelet.close();
    const count = Object.keys(metadata.labels ?? {}).length;
    expect(count).toBeGreaterThan(100);
    expect(listed({ metadata } as NodeObject)).toHaveLength(count - 2);
    await applyCrd(cluster);
  }, 120_000);
});

describe('B-18: a NodePoolLabelSet with keys and values that cannot be', () => {
  test('still gives what can be', async () => {
    const node = await register(api, 'of-broken', { [POOL]: 'broken' });
    expect(node.metadata.labels).toEqual({ [POOL]: 'broken', ...GOOD_LABELS });
    expect(listed(node)).toEqual(Object.keys(GOOD_LABELS).toSorted());
  });

  test('can be changed wherever it was not wrong, now that there are checks', async () => {
    const path = `${poolsPath()}/broken`;
    await api.patch(path, { metadata: { annotations: { seen: '1' } }, spec: { pool: 'broken' } });
    await expect(api.patch(path, { spec: { labels: { other: 'a b' } } })).rejects.toThrow('spec.labels.other');
    await expect(api.patch(path, { spec: { labels: { other: '1' } } })).rejects.toThrow('is not a valid label key');
    const mended = { 'bad key!': null, 'NODE-ROLE.Kubernetes.IO/control-plane': null };
    await api.patch(path, { spec: { labels: { ...mended, other: '1' } } });
  });

  test('adds nothing when nothing can be', async () => {
    const { metadata } = await register(api, 'of-all-bad', { [POOL]: 'all-bad' });
    expect(metadata.labels).toEqual({ [POOL]: 'all-bad' });
    expect(metadata.annotations ?? {}).not.toHaveProperty([MANAGED]);
  });

  test.each(['broken', 'all-bad'])('does not keep a kubelet from registering: %s', async (pool) => {
    const name = `kubelet-of-${pool}`;
    const kubelet = await cluster.controlPlane.clientFor({ user: `system:node:${name}`, groups: ['system:nodes'] });
    // NodeRestriction is at work: it refuses such a label where the kubelet itself asks for it.
    await expect(register(kubelet, name, { 'evil.k8s.io/x': '1' })).rejects.toThrow('is not allowed to set');
    const { metadata } = await register(kubelet, name, { [POOL]: pool, 'kubernetes.io/hostname': name });
    kubelet.close();
    expect(metadata.labels).toMatchObject({ [POOL]: pool, ...(pool === 'broken' ? GOOD_LABELS : {}) });
    expect(metadata.labels).not.toHaveProperty(['evil.k8s.io/x']);
  });
});

describe('the startup taint', () => {
  const selected = { 'rollcall.dev/startup-gate': 'true' };

  test('is put on no node that was not selected', async () => {
    const { spec } = await register(api, 'not-gated', { [POOL]: 'pool1', 'rollcall.dev/startup-gate': 'false' });
    expect(spec.taints?.map(({ key }) => key)).toEqual(['node.kubernetes.io/not-ready']);
  });

  test('is put on a selected node along with the labels of its pool, and leaves other taints alone', async () => {
    const kubelet = await cluster.controlPlane.clientFor({ user: 'system:node:gated', groups: ['system:nodes'] });
    const taint = { key: 'mine', value: 'x', effect: 'NoExecute' };
    const node = await register(kubelet, 'gated', { [POOL]: 'pool1', ...selected }, { spec: { taints: [taint] } });
    kubelet.close();
    expect(node.metadata.labels).toMatchObject({ tier: 'gold' });
    expect(node.spec.taints?.[0]).toEqual(taint);
    expect(node.spec.taints?.filter(({ key }) => key === STARTUP_TAINT.key)).toEqual([STARTUP_TAINT]);
  });

  test('is there once where the kubelet brings it along', async () => {
    const { spec } = await register(api, 'gated-itself', selected, { spec: { taints: [STARTUP_TAINT] } });
    expect(spec.taints?.filter(({ key }) => key === STARTUP_TAINT.key)).toEqual([STARTUP_TAINT]);
  });

  test('is not put on a node that its pool would select, as it is the node as it came that counts', async () => {
    await api.post(poolsPath(), poolLabelSet('gated-pool', selected));
    await admissionKnows(cluster, 'gated-pool', ['rollcall.dev/startup-gate', 'true']);
    const { spec } = await register(api, 'of-gated-pool', { [POOL]: 'gated-pool' });
    expect(spec.taints).not.toContainEqual(STARTUP_TAINT);
  });

  test('is put on the nodes that the selector of the binding says', async () => {
    const selector = { matchExpressions: [{ key: POOL, operator: 'In', values: ['gated-pool'] }] };
    await api.patch(
      '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/rollcall-startup-taint',
      [{ op: 'replace', path: '/spec/matchResources/objectSelector', value: selector }],
      'application/json-patch+json',
    );
    await waitFor('the taint', async () => {
      const { spec } = await register(api, 'rehearsal', { [POOL]: 'gated-pool' }, { dryRun: true });
      return spec.taints?.some(({ key }) => key === STARTUP_TAINT.key);
    });
    const { spec } = await register(api, 'no-longer-selected', selected);
    expect(spec.taints).not.toContainEqual(STARTUP_TAINT);
  });
});
