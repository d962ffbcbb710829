import type {
  ConditionChange,
  NodeRef,
  NodeSet,
  NodeWithdrawal,
  TaintChange,
} from '@rollcall/coordinator/decide/intent/plan.ts';
import { LeaderRequests } from '@rollcall/coordinator/kube/leader-requests.ts';
import { NodeWriter, type WriteOptions } from '@rollcall/coordinator/write/node-writer.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  annotation,
  applyAs,
  type Cluster,
  coordinatorClient,
  label,
  newNode,
  type RecordingClient,
  readNode,
  startCluster,
  startWriterRig,
  type WriterRig,
} from './writer-rig.ts';

const options = { timeoutMs: 10_000 };
const absentUid = '00000000-0000-4000-8000-000000000000';

let cluster: Cluster;
let client: RecordingClient;
let writer: ReturnType<typeof writesOf>;

beforeAll(async () => {
  cluster = await startCluster();
  client = coordinatorClient(cluster);
  const signal = new AbortController().signal;
  const requests = new LeaderRequests({ client, fence: { remainingMs: () => 10_000 }, signal });
  writer = writesOf(new NodeWriter(requests));
});
afterAll(async () => {
  client?.close();
  await cluster?.controlPlane.stop();
});

/** The requests to a Node, by their kinds. */
function writesOf(writer: NodeWriter) {
  return {
    set: (node: NodeRef, set: NodeSet, how: WriteOptions) => writer.send(node, { write: 'set', set }, how),
    withdraw: (node: NodeRef, keys: NodeWithdrawal, how: WriteOptions) =>
      writer.send(node, { write: 'withdraw', keys }, how),
    taints: (node: NodeRef, taints: TaintChange, how: WriteOptions) =>
      writer.send(node, { write: 'taints', taints }, how),
    conditions: (node: NodeRef, conditions: ConditionChange, how: WriteOptions) =>
      writer.send(node, { write: 'conditions', conditions }, how),
  };
}

function setOf(labels: Record<string, string>, more: Partial<NodeSet> = {}): NodeSet {
  return { labels, annotations: {}, force: false, ...more };
}

async function refTo(name: string): Promise<NodeRef> {
  const { uid = '', resourceVersion = '' } = (await readNode(cluster, name)).metadata;
  return { name, uid, resourceVersion };
}

async function labelsOf(name: string): Promise<Record<string, string>> {
  return (await readNode(cluster, name)).metadata.labels ?? {};
}

test('a write of each kind that is good for an unchanged Node alone is stale on any other, and changes nothing', async () => {
  await newNode(cluster, 'unchanged');
  await writer.set(await refTo('unchanged'), setOf({ key: '1' }), options);
  const old = await refTo('unchanged');
  await applyAs(cluster, 'nfd', 'unchanged', { labels: { theirs: '1' } });
  const before = (await readNode(cluster, 'unchanged')).metadata.resourceVersion;
  const only = { ...options, ifUnchanged: true };
  const taint = { key: 't', value: '', effect: 'NoSchedule' } as const;
  const entry = { type: 'c', status: 'True', reason: 'r', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const conditions = {
    conditions: [entry],
    news: ['c'],
    before: [],
    released: [],
    force: false,
    keepsAway: false,
  } as const;
  const writes = (ref: NodeRef) => [
    () => writer.withdraw(ref, { labels: ['key'], annotations: [] }, only),
    () => writer.set(ref, setOf({}), only),
    () => writer.taints(ref, { add: [taint], remove: [], observed: [] }, only),
    () => writer.conditions(ref, { write: 'apply', ...conditions, due: true, waiting: [] }, only),
  ];
  for (const write of writes(old)) expect(await write()).toEqual({ kind: 'stale' });
  expect((await readNode(cluster, 'unchanged')).metadata.resourceVersion).toBe(before);
  for (let kind = 0; kind < 4; kind += 1)
    expect(await writes(await refTo('unchanged'))[kind]?.()).toMatchObject({ kind: 'applied' });
});

describe('a set', () => {
  test('writes labels and annotations in one request, and is no write when it holds', async () => {
    await newNode(cluster, 'set');
    const set = setOf({ 'a.io/x': '1' }, { annotations: { 'a.io/y': 'any text, {even} this' } });
    const first = await writer.set(await refTo('set'), set, options);
    const node = await readNode(cluster, 'set');
    expect(node.metadata.labels).toMatchObject({ 'a.io/x': '1', 'kubernetes.io/os': 'linux' });
    expect(node.metadata.annotations).toEqual({ 'a.io/y': 'any text, {even} this' });
    expect(first).toMatchObject({
      kind: 'applied',
      node: { metadata: { resourceVersion: node.metadata.resourceVersion } },
    });
    const again = await writer.set(await refTo('set'), set, options);
    expect(again).toMatchObject({
      kind: 'applied',
      node: { metadata: { resourceVersion: node.metadata.resourceVersion } },
    });
  });

  test('without a key releases it, unless another manager applied the same', async () => {
    await newNode(cluster, 'release');
    await writer.set(await refTo('release'), setOf({ alone: '1', shared: '1' }), options);
    await applyAs(cluster, 'nfd', 'release', { labels: { shared: '1' } });
    await writer.set(await refTo('release'), setOf({}), options);
    const labels = await labelsOf('release');
    expect(labels).not.toHaveProperty('alone');
    expect(labels).toHaveProperty('shared', '1');
  });

  test('that conflicts names every key and all their managers, and writes nothing', async () => {
    await newNode(cluster, 'conflict');
    await applyAs(cluster, 'argo', 'conflict', {
      labels: { 'x.io/l.o-n_g': 'a', both: 'a' },
      annotations: { 'y.io/a': 'a' },
    });
    await applyAs(cluster, 'flux', 'conflict', { labels: { both: 'a' } });
    await cluster.controlPlane.kubectl(['label', 'node', 'conflict', 'tier=silver']);
    const wanted = { mine: '1', 'x.io/l.o-n_g': 'r', both: 'r', tier: 'gold' };
    const outcome = await writer.set(
      await refTo('conflict'),
      setOf(wanted, { annotations: { 'y.io/a': 'r' } }),
      options,
    );
    expect(outcome.kind).toBe('conflict');
    const foreign = outcome.kind === 'conflict' ? outcome.foreign : [];
    expect(
      foreign.map(({ ref, owner }) => `${ref.kind} ${ref.key} ${owner.split(', ').toSorted()}`).toSorted(),
    ).toEqual([
      'annotation y.io/a argo',
      'label both argo,flux',
      'label tier kubectl-label',
      'label x.io/l.o-n_g argo',
    ]);
    expect(await labelsOf('conflict')).not.toHaveProperty('mine');
  });

  test('by force takes a key over, but not on a node that changed since', async () => {
    await newNode(cluster, 'force');
    await applyAs(cluster, 'argo', 'force', { labels: { key: 'argo' } });
    const seen = await refTo('force');
    await applyAs(cluster, 'argo', 'force', { labels: { key: 'argo', other: 'argo' } });
    const forced = setOf({ key: 'ours' }, { force: true });
    expect(await writer.set(seen, forced, options)).toEqual({ kind: 'stale' });
    expect(await labelsOf('force')).toHaveProperty('key', 'argo');
    expect(await writer.set(await refTo('force'), forced, options)).toMatchObject({ kind: 'applied' });
    expect(await labelsOf('force')).toMatchObject({ key: 'ours', other: 'argo' });
  });

  test('that is rehearsed is answered as if it were written, and is not', async () => {
    await newNode(cluster, 'rehearsal');
    const outcome = await writer.set(await refTo('rehearsal'), setOf({ key: '1' }), { ...options, rehearsal: true });
    expect(outcome).toMatchObject({ kind: 'applied', node: { metadata: { labels: { key: '1' } } } });
    expect(await labelsOf('rehearsal')).not.toHaveProperty('key');
  });
});

describe('a withdrawal', () => {
  test('removes a key that another applier holds too, and nothing else, in one request', async () => {
    await newNode(cluster, 'withdraw', { labels: { other: '1' } });
    await writer.set(await refTo('withdraw'), setOf({ ready: 'true', kept: '1' }), options);
    await applyAs(cluster, 'old-labeler', 'withdraw', { labels: { ready: 'true', theirs: '1' } });
    const before = client.sent.length;
    const outcome = await writer.withdraw(await refTo('withdraw'), { labels: ['ready'], annotations: [] }, options);
    expect(client.sent.length - before).toBe(1);
    expect(outcome.kind).toBe('applied');
    const labels = await labelsOf('withdraw');
    expect(labels).not.toHaveProperty('ready');
    expect(labels).toMatchObject({ kept: '1', theirs: '1', other: '1' });
  });

  test('leaves nothing behind that a later set would stumble over', async () => {
    await newNode(cluster, 'return');
    await writer.set(await refTo('return'), setOf({ ready: 'true' }), options);
    await writer.withdraw(await refTo('return'), { labels: ['ready'], annotations: [] }, options);
    expect(await writer.set(await refTo('return'), setOf({ ready: 'true' }), options)).toMatchObject({
      kind: 'applied',
    });
    await writer.set(await refTo('return'), setOf({}), options);
    expect(await labelsOf('return')).not.toHaveProperty('ready');
  });

  test('of a key that is not there is no write', async () => {
    await newNode(cluster, 'nothing');
    const ref = await refTo('nothing');
    const outcome = await writer.withdraw(ref, { labels: ['never.io/there'], annotations: ['nor.io/this'] }, options);
    expect(outcome).toMatchObject({ kind: 'applied', node: { metadata: { resourceVersion: ref.resourceVersion } } });
  });
});

describe('a node that is not the one that was meant', () => {
  test('is left alone when it was re-created under the same name', async () => {
    await newNode(cluster, 'phoenix');
    const old = await refTo('phoenix');
    await cluster.controlPlane.api.delete('/api/v1/nodes/phoenix');
    await newNode(cluster, 'phoenix', { labels: { ready: 'true' } });
    const before = await readNode(cluster, 'phoenix');
    expect(await writer.set(old, setOf({ key: '1' }), options)).toEqual({ kind: 'gone' });
    expect(await writer.withdraw(old, { labels: ['ready'], annotations: [] }, options)).toEqual({ kind: 'gone' });
    expect((await writer.set(old, setOf({ key: '1' }, { force: true }), options)).kind).toBe('stale');
    expect(await readNode(cluster, 'phoenix')).toEqual(before);
  });

  test('is not created when there is none', async () => {
    const ref = { name: 'never', uid: absentUid, resourceVersion: '1' };
    expect(await writer.set(ref, setOf({ key: '1' }), options)).toEqual({ kind: 'stale' });
    expect(await writer.withdraw(ref, { labels: ['key'], annotations: [] }, options)).toEqual({ kind: 'gone' });
    expect(await writer.set(ref, setOf({ key: '1' }, { force: true }), options)).toEqual({ kind: 'stale' });
    await expect(readNode(cluster, 'never')).rejects.toThrow('not found');
  });
});

describe('a set with malformed keys', () => {
  test.each([
    ['a key', { 'bad key!': '1' }, {}, [{ kind: 'label', key: 'bad key!' }]],
    ['an empty key', { '': '1' }, {}, [{ kind: 'label', key: '' }]],
    ['a key with two slashes', { 'a/b/c': '1' }, {}, [{ kind: 'label', key: 'a/b/c' }]],
    ['a prefix in upper case', { 'BAD.io/key': '1' }, {}, [{ kind: 'label', key: 'BAD.io/key' }]],
    [
      'a name that is too long',
      { [`a.io/${'x'.repeat(64)}`]: '1' },
      {},
      [{ kind: 'label', key: `a.io/${'x'.repeat(64)}` }],
    ],
    [
      'a prefix that is too long',
      { [`${'x'.repeat(254)}/a`]: '1' },
      {},
      [{ kind: 'label', key: `${'x'.repeat(254)}/a` }],
    ],
    ['a value', { 'ok.io/k': '-x' }, {}, [{ kind: 'label', key: 'ok.io/k' }]],
    ['a value that is too long', { k: 'x'.repeat(64) }, {}, [{ kind: 'label', key: 'k' }]],
    ['an annotation', {}, { 'bad key!': '1' }, [{ kind: 'annotation', key: 'bad key!' }]],
    [
      'several of both',
      { 'bad key!': '1', v: 'a b' },
      { 'a/b/c': '' },
      [
        { kind: 'label', key: 'bad key!' },
        { kind: 'label', key: 'v' },
        { kind: 'annotation', key: 'a/b/c' },
      ],
    ],
  ])('is refused for %s, and those are named', async (_what, labels, annotations, keys) => {
    await newNode(cluster, 'malformed').catch(() => undefined);
    const set = setOf({ fine: '1', ...labels }, { annotations: { 'fine.io/Name': 'any', ...annotations } });
    expect(await writer.set(await refTo('malformed'), set, options)).toMatchObject({ kind: 'invalid', keys });
  });

  test.each([
    ['the longest name', { ['x'.repeat(63)]: 'x'.repeat(63) }, {}],
    ['the longest prefix', { [`${'x'.repeat(253)}/a`]: '' }, {}],
    ['one character', { 'a.b/c': 'd' }, {}],
    ['an annotation with a prefix in upper case', {}, { 'GOOD.io/Key': '' }],
  ])('goes through with %s', async (_what, labels, annotations) => {
    await newNode(cluster, 'wellformed').catch(() => undefined);
    const outcome = await writer.set(await refTo('wellformed'), setOf(labels, { annotations }), options);
    expect(outcome.kind).toBe('applied');
  });
});

describe('the write queue', () => {
  let rig: WriterRig;
  beforeAll(() => {
    rig = startWriterRig(cluster, { client: coordinatorClient(cluster) });
  });
  afterAll(() => rig?.stop());

  test('spends one request on a change, whatever its size, and none on what holds', async () => {
    await newNode(cluster, 'economy');
    const counted = () => cluster.controlPlane.requestTotals({ verb: 'APPLY', resource: 'nodes' });
    const wishes = Array.from({ length: 50 }, (_, index) => label(`a.io/k${index}`, 'v'));
    const before = await counted();
    rig.want('economy', [...wishes, annotation('a.io/note', 'n')]);
    await rig.until('economy');
    for (let repeat = 0; repeat < 20; repeat += 1) rig.writeQueue.add('economy');
    await rig.requests.settled();
    expect((await counted()) - before).toBe(1);
    expect(await labelsOf('economy')).toMatchObject({ 'a.io/k0': 'v', 'a.io/k49': 'v' });
  });

  test('withdraws an exclusive key of another client and sets the rest, one request each', async () => {
    await newNode(cluster, 'both', { labels: { ready: 'true' } });
    await applyAs(cluster, 'old-labeler', 'both', { labels: { ready: 'true' } });
    const withheld = label('ready', 'true', { stance: 'absent', ownership: 'exclusive' });
    rig.want('both', [withheld, label('a.io/x', '1')]);
    await rig.until('both');
    const labels = await labelsOf('both');
    expect(labels).not.toHaveProperty('ready');
    expect(labels).toHaveProperty('a.io/x', '1');
  });

  test('takes an exclusive key over from another applier, and shared keys of the same node by and by', async () => {
    await newNode(cluster, 'takeover');
    await applyAs(cluster, 'argo', 'takeover', { labels: { ready: 'false', tier: 'silver' } });
    rig.want('takeover', [
      label('ready', 'true', { ownership: 'exclusive' }),
      label('tier', 'gold'),
      label('mine', '1'),
    ]);
    await rig.until('takeover');
    expect(await labelsOf('takeover')).toMatchObject({ ready: 'true', tier: 'silver', mine: '1' });
    expect(rig.skipped.keysFor('takeover')).toMatchObject([{ key: 'tier', cause: 'foreign', wanted: 'gold' }]);
  });
});
