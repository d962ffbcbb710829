import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { MANAGED, POOL } from './pool-cluster.ts';
import { PoolStage } from './pool-stage.ts';

const CLOCK_SPEED = 4;
/** More than two looks, which are 900 ms apart on the clock of the coordinator. */
const TWO_LOOKS_MS = 3000 / CLOCK_SPEED;

let stage: PoolStage;
beforeAll(async () => {
  stage = await PoolStage.start({ clockSpeed: CLOCK_SPEED });
});
afterAll(() => stage?.stop());

type EventObject = KubeObject & {
  reason: string;
  type: string;
  note: string;
  regarding: { kind: string; name: string; uid: string };
  series?: { count: number };
};

async function eventsAbout(name: string): Promise<EventObject[]> {
  const events = await stage.api.list<EventObject>('/apis/events.k8s.io/v1/namespaces/rollcall/events');
  return events.filter(({ regarding }) => regarding.kind === 'NodePoolLabelSet' && regarding.name === name);
}

/** The version of a set after two more looks, in which no status was written, not even one that changes nothing. */
async function standing(name: string): Promise<string | undefined> {
  const { controlPlane } = stage.cluster;
  const patches = () => controlPlane.requestTotals({ verb: 'PATCH', resource: 'nodepoollabelsets' });
  const version = async () => (await stage.readPool(name)).metadata.resourceVersion;
  const before = [await version(), await patches()];
  await sleep(TWO_LOOKS_MS);
  expect([await version(), await patches()]).toEqual(before);
  return version();
}

test.concurrent('counts follow the nodes, and each condition has the time of its last change', async () => {
  await stage.pool('counts', { tier: 'gold', zone: 'a' });
  const empty = await stage.untilStatus('counts', ({ nodesMatched }) => nodesMatched === 0);
  expect(empty).toMatchObject({ observedGeneration: 1, nodesLabelled: 0, nodesInConflict: 0 });
  const nodes = [await stage.node('counts'), await stage.node('counts')];
  const full = await stage.untilStatus('counts', ({ nodesLabelled }) => nodesLabelled === 2);
  expect(full).toMatchObject({ nodesMatched: 2, nodesInConflict: 0, refusedKeys: [] });
  const [inForce, labelled] = full.conditions;
  expect(inForce).toMatchObject({ type: 'Ready', status: 'True', reason: 'InForce', observedGeneration: 1 });
  expect(labelled).toMatchObject({ type: 'NodesLabelled', status: 'True', message: '2 of 2 nodes have the labels' });

  const foreign = await stage.node('counts', { tier: 'silver' });
  const conflict = await stage.untilStatus('counts', ({ nodesInConflict }) => nodesInConflict === 1);
  expect(conflict).toMatchObject({ nodesMatched: 3, nodesLabelled: 2 });
  expect(conflict.conditions[0]).toEqual(inForce);
  const message = `2 of 3 nodes have the labels; others have set another value of tier on ${foreign}`;
  expect(conflict.conditions[1]).toMatchObject({ type: 'NodesLabelled', status: 'False', reason: 'Conflict', message });
  expect(conflict.conditions[1]?.lastTransitionTime).not.toBe(labelled?.lastTransitionTime);

  await stage.relabel('counts', { zone: 'b' });
  const later = await stage.untilStatus('counts', ({ nodesLabelled }) => nodesLabelled === 3);
  expect(later).toMatchObject({ observedGeneration: 2, nodesInConflict: 0 });
  expect(later.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([2, 2]);
  expect(later.conditions[0]?.lastTransitionTime).toBe(inForce?.lastTransitionTime);
  await stage.api.delete(`/api/v1/nodes/${nodes[0]}`);
  await stage.edit(nodes[1] ?? '', { labels: { [POOL]: null } });
  await stage.untilStatus('counts', ({ nodesMatched, nodesLabelled }) => nodesMatched === 1 && nodesLabelled === 1);
});

test.concurrent('refused keys are told with reasons, at most 20 of them, by one Event and by a metric', async () => {
  const keys = Array.from({ length: 30 }, (_, index) => `k8s.io/key-${String(index).padStart(2, '0')}`);
  await stage.pool('refused', { ...Object.fromEntries(keys.map((key) => [key, '1'])), fine: '1' });
  const { refusedKeys, conditions } = await stage.untilStatus('refused', () => true);
  expect(refusedKeys).toEqual(
    keys.slice(0, 20).map((key) => ({
      key,
      reason: 'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    })),
  );
  const message =
    'k8s.io/key-00 is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes) (and 29 more)';
  expect(conditions[0]).toMatchObject({ status: 'False', reason: 'KeysRefused', message });
  const leader = await stage.rig.leader();
  expect(await leader.metric('rollcall_coordinator_refused_pool_keys')).toBeGreaterThan(29);

  const node = await stage.node('refused');
  await stage.until(node, { labels: { fine: '1' }, managed: ['fine'] });
  await stage.untilStatus('refused', ({ nodesLabelled }) => nodesLabelled === 1);
  const event = await waitFor('the Event', async () => (await eventsAbout('refused'))[0]);
  expect(event).toMatchObject({ reason: 'KeysRefused', type: 'Warning' });
  expect(event.regarding.uid).toBe((await stage.readPool('refused')).metadata.uid);
  expect(event.note).toContain(
    'k8s.io/key-00 is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes); k8s.io/key-01',
  );
  expect(event.note.length).toBeLessThan(1025);
  const events = await eventsAbout('refused');
  expect(events.map(({ series }) => series?.count ?? 1)).toEqual([1]);

  await stage.relabel('refused', { fine: '1' });
  const mended = await stage.untilStatus('refused', ({ observedGeneration }) => observedGeneration === 2);
  expect(mended.refusedKeys).toEqual([]);
  expect(mended.conditions[0]).toMatchObject({ status: 'True', reason: 'InForce' });
});

test.concurrent('of two sets for one pool the older counts, and the status of the other reports this until it is its turn', async () => {
  await stage.pool('older', { tier: 'older' }, { pool: 'Shared_Pool' });
  // Creation times are whole seconds.
  await sleep(1001);
  await stage.pool('newer', { tier: 'newer', more: '1' }, { pool: 'Shared_Pool' });
  const node = await stage.node('Shared_Pool');
  await stage.until(node, { labels: { tier: 'older', more: undefined }, managed: ['tier'] });
  const taken = await stage.untilStatus('newer', () => true);
  expect(taken.conditions.map(({ status, reason }) => `${status} ${reason}`)).toEqual([
    'False PoolTaken',
    'True PoolTaken',
    'Unknown NotInForce',
  ]);
  expect(taken.conditions[0]?.message).toBe(
    'The pool Shared_Pool already has the NodePoolLabelSet older, which is older',
  );
  expect(taken.nodesMatched).toBe(0);
  await stage.removePool('older');
  await stage.until(node, { labels: { tier: 'newer', more: '1' }, managed: ['more', 'tier'] });
  const turn = await stage.untilStatus('newer', ({ nodesLabelled }) => nodesLabelled === 1);
  expect(turn.conditions.map(({ status }) => status)).toEqual(['True', 'True']);
});

test.concurrent('a conflict shows on the page that explains the node', async () => {
  const node = await stage.node('shown', { tier: 'mine' });
  await stage.pool('shown', { tier: 'theirs', free: '1', 'k8s.io/x': '1' });
  await stage.until(node, { labels: { tier: 'mine', free: '1' }, managed: ['free'] });
  const { keys, pool, pending } = await (await stage.rig.leader()).explain(node);
  expect({ pool, pending }).toEqual({ pool: 'shown', pending: undefined });
  expect(keys.find(({ key }) => key === 'tier')).toMatchObject({
    stance: 'absent',
    value: 'theirs',
    onNode: 'mine',
    labeler: 'pool-labels',
    reason: 'already has the value "mine", set by another client',
    skipped: { cause: 'foreign' },
  });
  const reason = 'NodePoolLabelSet rollcall/shown of the pool shown';
  expect(keys.find(({ key }) => key === 'free')).toMatchObject({ stance: 'present', onNode: '1', reason });
  expect(keys.find(({ key }) => key === MANAGED)).toMatchObject({ onNode: '["free"]' });
  await stage.untilStatus('shown', ({ nodesInConflict }) => nodesInConflict === 1);
});

test('nothing is written while nothing differs, and nothing by a coordinator that takes over', async () => {
  const before = await standing('shown');
  await stage.whileDown(async () => {});
  expect(await standing('shown')).toBe(before);
  expect(await eventsAbout('shown')).toHaveLength(1);
});

test('with the CRD of upstream, which has no status, labels are set all the same, and few requests are lost', async () => {
  const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepoollabelsets.labels.banzaicloud.io';
  const withoutStatus = [{ op: 'remove', path: '/spec/versions/0/subresources' }];
  await stage.api.patch(crd, withoutStatus, 'application/json-patch+json');
  await waitFor('the status to be served no more', async () => {
    const { status } = await stage.api.exchange(
      'GET',
      '/apis/labels.banzaicloud.io/v1alpha1/namespaces/rollcall/nodepoollabelsets/shown/status',
    );
    return status === 404;
  });
  await stage.pool('bare', { tier: 'bare', 'k8s.io/x': '1' });
  const node = await stage.node('bare');
  await stage.until(node, { labels: { tier: 'bare' }, managed: ['tier'] });
  await waitFor('the Event', async () => (await eventsAbout('bare'))[0]);
  await sleep(TWO_LOOKS_MS);
  const leader = await stage.rig.leader();
  // Once for an object that may be gone, and once more for one that is not.
  expect(await leader.metric('rollcall_coordinator_kube_requests_total', { verb: 'patch', code: '404' })).toBe(2);
  expect(await eventsAbout('bare')).toHaveLength(1);
  const lines = leader.logs.filter(({ msg }) => msg === 'Failed to write the status of an object');
  expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  await stage.relabel('bare', { tier: 'bare', 'k8s.io/x': '1', 'k8s.io/y': '1' });
  await waitFor('the second Event', async () =>
    (await eventsAbout('bare')).some(({ note }) => note.includes('k8s.io/y')),
  );
});
