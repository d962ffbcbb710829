import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { MANAGED, POOL } from './pool-cluster.ts';
import { PoolStage } from './pool-stage.ts';

// The numbers refer to the recorded behaviors of Banzai's nodepool-labels-operator.

const UPSTREAM = 'nodepool-labels-operator';
const NOTHING = { removals: 0, applies: 0 };

let stage: PoolStage;
let atStart: string;
let taken: string;
beforeAll(async () => {
  stage = await PoolStage.start({
    crd: 'upstream',
    coordinatorArgs: ['--forbidden-label-domains=google.com,example.org,StorageTier'],
    prepare: async (early) => {
      atStart = await early.node('b1', { own: 'x' });
      await early.pool('b1', { environment: 'testing', team: 'rnd', 'node.banzaicloud.io/ondemand': 'true' });
      // An object that exists already, and that today's CRD would refuse.
      await early.pool('b18', { 'key*': 'x', value: 'v*/-', good: 'yes' });
      await early.installCrd();
      taken = await early.node('b26');
      const list = '["team","gone","environment","cloud.google.com/zone","agentpool","kubernetes.io/os"]';
      const labels = { team: 'rnd', gone: '1', environment: 'old', agentpool: 'x', 'cloud.google.com/zone': 'a' };
      await early.edit(taken, { labels, annotations: { [MANAGED]: list } }, UPSTREAM);
      await early.pool('b26', { environment: 'testing', team: 'rnd', 'cloud.google.com/zone': 'b' });
    },
  });
});
afterAll(() => stage?.stop());

/** A Node with the labels of a pool that is for this test alone. */
async function labelled(pool: string, labels: Record<string, string>): Promise<string> {
  const node = await stage.node(pool);
  await stage.pool(pool, labels);
  await stage.until(node, { labels, managed: Object.keys(labels).sort() });
  return node;
}

test('B-1 a node that is in a pool at the start has all labels and the annotation', async () => {
  const labels = { environment: 'testing', team: 'rnd', 'node.banzaicloud.io/ondemand': 'true', own: 'x' };
  await stage.until(atStart, { labels, managed: ['environment', 'node.banzaicloud.io/ondemand', 'team'] });
});

test.each([
  ['the first of several', { [POOL]: 'b2', agentpool: 'other' }],
  ['one of the middle, those before being empty or absent', { [POOL]: '', agentpool: 'b2', agent: 'other' }],
  ['the key of AKS', { 'kubernetes.azure.com/agentpool': 'b2' }],
  ['the key of EKS', { 'eks.amazonaws.com/nodegroup': 'b2', 'karpenter.sh/nodepool': 'other' }],
  ['the key of Karpenter', { 'karpenter.sh/nodepool': 'b2' }],
  [
    'the key of upstream’s documentation',
    { 'node.banzaicloud.io/nodepool': 'b2', 'kubernetes.azure.com/agentpool': 'x' },
  ],
])('B-2 the first key with a value names the pool: %s', async (_, labels) => {
  const other = { tier: 'b2' };
  await stage.pool('b2', other).catch(() => undefined);
  await stage.pool('other', { tier: 'wrong' }).catch(() => undefined);
  await stage.until(await stage.node(undefined, labels), { labels: other, managed: ['tier'] });
});

test('B-3 a set in another namespace is ignored', async () => {
  const node = await stage.node('b3');
  expect(await stage.patchesBy(() => stage.pool('b3', { tier: 'x' }, {}, 'default'))).toEqual(NOTHING);
  await stage.until(node, { labels: { tier: undefined }, managed: undefined });
});

test('B-4 reserved domains are matched whole or as a suffix, and stop no other key', async () => {
  const node = await stage.node('b4');
  const refused = ['a.k8s.io/x', 'cloud.google.com/x', 'example.org/x', 'kubernetes.io/x', 'storagetier'];
  const accepted = ['example.org.uk/x', 'my-kubernetes.io-thing', 'notgoogle.com/x'];
  await stage.pool('b4', Object.fromEntries([...refused, ...accepted].map((key) => [key, 'x'])));
  const labels = Object.fromEntries([...refused.map((key) => [key, undefined]), ...accepted.map((key) => [key, 'x'])]);
  await stage.until(node, { labels, managed: accepted });
  const { refusedKeys } = await stage.untilStatus('b4', ({ nodesLabelled }) => nodesLabelled === 1);
  expect(refusedKeys).toEqual([
    {
      key: 'a.k8s.io/x',
      reason: 'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    },
    { key: 'cloud.google.com/x', reason: 'is in the reserved domain google.com' },
    { key: 'example.org/x', reason: 'is in the reserved domain example.org' },
    {
      key: 'kubernetes.io/x',
      reason: 'is in the reserved domain kubernetes.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    },
    { key: 'storagetier', reason: 'is in the reserved domain StorageTier' },
  ]);
});

test('B-5 an empty value is kept, and can become one and be one no more', async () => {
  const node = await labelled('b5', { empty: '' });
  await stage.relabel('b5', { empty: 'full' });
  await stage.until(node, { labels: { empty: 'full' }, managed: ['empty'] });
  await stage.relabel('b5', { empty: '' });
  await stage.until(node, { labels: { empty: '' }, managed: ['empty'] });
});

test('B-6 a changed set changes values, takes keys out, and touches no foreign label', async () => {
  const node = await labelled('b6', { keep: '1', change: '1', drop: '1' });
  await stage.edit(node, { labels: { foreign: 'x' } });
  await stage.relabel('b6', { keep: '1', change: '2', add: '1' });
  const labels = { keep: '1', change: '2', add: '1', drop: undefined, foreign: 'x' };
  await stage.until(node, { labels, managed: ['add', 'change', 'keep'] });
});

test('B-7 a deleted set takes its labels and the annotation along', async () => {
  const node = await labelled('b7', { tier: 'b7' });
  await stage.removePool('b7');
  await stage.until(node, { labels: { tier: undefined, [POOL]: 'b7' }, managed: undefined });
});

test('B-8 a node that joins later is labelled by one write', async () => {
  await labelled('b8', { tier: 'b8', more: '1' });
  const name = 'b8-late';
  const metadata = { name, labels: { [POOL]: 'b8' } };
  const patches = await stage.patchesBy(async () => {
    await stage.api.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata });
    await stage.until(name, { labels: { tier: 'b8', more: '1' }, managed: ['more', 'tier'] });
  });
  expect(patches).toEqual({ removals: 0, applies: 1 });
});

test('B-9 a label that is there with another value is not adopted: reported, left, and never deleted', async () => {
  const node = await stage.node('b9', { tier: 'mine' });
  await stage.pool('b9', { tier: 'theirs', free: '1' });
  await stage.until(node, { labels: { tier: 'mine', free: '1' }, managed: ['free'] });
  const { conditions } = await stage.untilStatus('b9', ({ nodesInConflict }) => nodesInConflict === 1);
  expect(conditions.find(({ type }) => type === 'NodesLabelled')?.message).toContain(`tier on ${node}`);
  await stage.removePool('b9');
  await stage.until(node, { labels: { tier: 'mine', free: undefined }, managed: undefined });
});

test('B-10 labels are removed by a merge patch of nulls, which also removes what others wrote last', async () => {
  const node = await labelled('b10', { tier: 'b10' });
  await stage.whileDown(() => stage.edit(node, { labels: { tier: 'edited' } }, UPSTREAM));
  const patches = await stage.patchesBy(async () => {
    await stage.removePool('b10');
    await stage.until(node, { labels: { tier: undefined }, managed: undefined });
  });
  expect(patches).toEqual({ removals: 1, applies: 0 });
});

test('B-11 a managed label that a person edits or deletes is restored, by one write each', async () => {
  const node = await labelled('b11', { tier: 'b11', more: '1' });
  for (const tier of ['edited', null]) {
    const patches = await stage.patchesBy(() => stage.edit(node, { labels: { tier } }));
    expect(patches).toEqual({ removals: 0, applies: 1 });
    await stage.until(node, { labels: { tier: 'b11', more: '1' }, managed: ['more', 'tier'] });
  }
});

test('B-12 a node that gets its pool label late is labelled', async () => {
  await labelled('b12', { tier: 'b12' });
  const node = await stage.node();
  await stage.edit(node, { labels: { [POOL]: 'b12' } });
  await stage.until(node, { labels: { tier: 'b12' }, managed: ['tier'] });
});

test('B-13 a node that moves to another pool has the labels of that one, and none of the first', async () => {
  const node = await labelled('b13-a', { both: 'a', old: '1' });
  await labelled('b13-b', { both: 'b', new: '1' });
  const patches = await stage.patchesBy(() => stage.edit(node, { labels: { [POOL]: 'b13-b' } }));
  await stage.until(node, { labels: { both: 'b', old: undefined, new: '1' }, managed: ['both', 'new'] });
  expect(patches).toEqual({ removals: 1, applies: 1 });
});

test('B-15 B-16 a node without a pool, and one whose pool has no set, are not written to', async () => {
  const nodes = [await stage.node(), await stage.node('b15')];
  expect(await stage.patchesBy(() => stage.edit(nodes[0] ?? '', { labels: { some: 'x' } }))).toEqual(NOTHING);
  for (const node of nodes) await stage.until(node, { managed: undefined });
  expect(await stage.patchesBy(() => stage.whileDown(async () => {}))).toEqual(NOTHING);
});

test('B-17 the annotation is sorted, and the same for the same keys', async () => {
  const node = await labelled('b17', { z: '1', a: '1', m: '1' });
  const patches = await stage.patchesBy(() => stage.relabel('b17', { m: '1', a: '1', z: '1' }));
  expect(patches).toEqual(NOTHING);
  await stage.until(node, { managed: ['a', 'm', 'z'] });
});

test('B-18 an invalid key or value in a set that is there already stops no other key, and is told', async () => {
  const node = await stage.node('b18');
  await stage.until(node, { labels: { good: 'yes', value: undefined }, managed: ['good'] });
  const { refusedKeys } = await stage.untilStatus('b18', ({ nodesLabelled }) => nodesLabelled === 1);
  expect(refusedKeys).toEqual([
    { key: 'key*', reason: 'is not a valid label key' },
    { key: 'value', reason: 'has an invalid label value' },
  ]);
});

test('B-19 an annotation that cannot be read removes nothing, and is written anew', async () => {
  const node = await labelled('b19', { tier: 'b19' });
  await stage.edit(node, { labels: { left: '1', tier: null }, annotations: { [MANAGED]: '["left","tier"' } });
  await stage.until(node, { labels: { left: '1', tier: 'b19' }, managed: ['tier'] });
  const leader = await stage.rig.leader();
  const told = () =>
    leader.logs
      .filter(({ node: name }) => name === node)
      .filter((line) => JSON.stringify(line).includes('not a JSON array of keys'));
  // The log comes by a pipe, and can be later here than what was written.
  await waitFor('the log to say why', () => told().length > 0);
  expect(told()).toHaveLength(1);
});

test('B-20 a set that names its own pool key never costs a node its pool', async () => {
  const node = await stage.node('b20');
  await stage.pool('b20', { [POOL]: 'b20', tier: 'b20' });
  await stage.until(node, { labels: { tier: 'b20' }, managed: ['tier'] });
  await stage.removePool('b20');
  await stage.until(node, { labels: { tier: undefined, [POOL]: 'b20' }, managed: undefined });
});

test('B-21 the last label goes without the others, and what another client adds at that moment stays', async () => {
  const name = 'b21-bare';
  await stage.pool('b21', { tier: 'b21' });
  await stage.api.post('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { agentpool: 'b21' } },
  });
  await stage.until(name, { labels: { tier: 'b21' }, managed: ['tier'] });
  await stage.edit(name, { labels: { agentpool: null, late: '1' } });
  await stage.until(name, { labels: { tier: undefined, late: '1' }, managed: undefined });
});

test('B-26 an annotation of upstream is taken as it is, and cleaned', async () => {
  const labels = { environment: 'testing', team: 'rnd', gone: undefined, 'cloud.google.com/zone': undefined };
  const untouched = { agentpool: 'x', 'kubernetes.io/os': 'linux' };
  const left = Object.keys(untouched);
  await stage.until(taken, { labels: { ...labels, ...untouched }, managed: [...left, 'environment', 'team'].sort() });
  await stage.removePool('b26');
  const gone = { environment: undefined, team: undefined };
  await stage.until(taken, { labels: { ...gone, ...untouched }, managed: left });
});
