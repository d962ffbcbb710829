import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { eachOf } from '../../scale/each-of.ts';
import { POOL, poolsPath } from '../pools/pool-cluster.ts';
import { PoolStage } from '../pools/pool-stage.ts';

const POOLS = ['a', 'b', 'c', 'd', 'e'];
const nodes = Array.from({ length: 100 }, (_, index) => `n${index}`);
const AT_ONCE = 10;
const DELAY_SECONDS = 8;
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepoollabelsets.labels.banzaicloud.io';

let stage: PoolStage;
beforeAll(async () => {
  stage = await PoolStage.start();
  await eachOf(nodes, 8, (name, index) => {
    return createNode(stage.api, name, { labels: { [POOL]: POOLS[index % POOLS.length] ?? '' } });
  });
});
afterAll(() => stage?.stop());

const having = () => nodes.filter((name) => stage.states.last(name)?.labels['tier'] !== undefined).length;

async function untilHaving(count: number, timeoutMs = 30_000): Promise<number> {
  await waitFor(`${count} nodes to have the label`, () => having() === count, { timeoutMs, everyMs: 5 });
  return performance.now();
}

// What was changed less than a minute before would count: a new leader has seen no change.
beforeEach(async () => {
  const delay = [`--mass-withdrawal-delay-seconds=${DELAY_SECONDS}`];
  await stage.whileDown(async () => {
    await stage.installCrd();
    for (const pool of POOLS) await stage.pool(pool, { tier: pool });
  }, delay);
  await untilHaving(nodes.length);
  await stage.whileDown(async () => {}, delay);
});

test.each([
  ['the CRD is deleted', CRD],
  // The namespace controller does this when a namespace is deleted.
  ['all sets of the namespace are deleted', poolsPath()],
])('where %s, labels leave ten nodes, and the others after the delay', async (_what, path) => {
  const leader = await stage.rig.leader();
  const startMs = performance.now();
  await stage.api.delete(path);
  await untilHaving(nodes.length - AT_ONCE);
  const held = () => leader.metric('rollcall_coordinator_guarded_nodes', { subject: 'configuration' });
  await waitFor('the others to be held', async () => (await held()) === nodes.length - AT_ONCE);
  await waitFor('an Event about it', async () => {
    const events = await stage.api.list<KubeObject & { reason?: string }>('/api/v1/events');
    return events.some(({ reason }) => reason === 'GuardActive');
  });
  expect(having()).toBe(nodes.length - AT_ONCE);
  const endMs = await untilHaving(0);
  expect(endMs - startMs).toBeGreaterThan((DELAY_SECONDS - 1) * 1000);
});

test('where one set is deleted, labels leave all nodes of its pool within a second or so', async () => {
  const startMs = performance.now();
  await stage.removePool('a');
  const endMs = await untilHaving(nodes.length * (1 - 1 / POOLS.length));
  expect(endMs - startMs).toBeLessThan(2000);
});
