import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { eachOf } from '../../scale/each-of.ts';
import { measureFloor } from '../../scale/floor.ts';
import { POOL } from './pool-cluster.ts';
import { PoolStage } from './pool-stage.ts';

/** `ROLLCALL_POOLS=full` for a large pool; otherwise what every test run can afford. */
const FULL = process.env['ROLLCALL_POOLS'] === 'full';
const { large: LARGE, small: SMALL } = FULL ? { large: 1000, small: 200 } : { large: 60, small: 20 };
const large = Array.from({ length: LARGE }, (_, index) => `large-${index}`);
const small = Array.from({ length: SMALL }, (_, index) => `small-${index}`);

let stage: PoolStage;
beforeAll(async () => {
  stage = await PoolStage.start({
    // A set of so many nodes that is gone would wait for a person to notice.
    coordinatorArgs: ['--mass-withdrawal-delay-seconds=0'],
    prepare: async (early) => {
      await eachOf([...large, ...small], 16, (name) => {
        const labels = { [POOL]: name.slice(0, 5) };
        return early.api.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
      });
      for (const pool of ['large', 'small']) await early.pool(pool, { tier: '0', keep: pool });
    },
  });
  await allHave(large, '0');
  await allHave(small, '0');
}, 240_000);
afterAll(() => stage?.stop());

/** When the last of the nodes had the label, by the monotonic clock. */
async function allHave(nodes: readonly string[], tier: string | undefined): Promise<number> {
  const check = () => nodes.every((name) => stage.states.last(name)?.labels['tier'] === tier);
  await waitFor(`${nodes.length} nodes to have tier ${tier}`, check, { timeoutMs: 60_000, everyMs: 10 });
  return performance.now();
}

function versionsOf(nodes: readonly string[]): (string | undefined)[] {
  return nodes.map((name) => stage.states.last(name)?.version);
}

test('a change of a set is one write for each node of its pool, and none for the nodes of another', async () => {
  const before = versionsOf(small);
  const patches = await stage.patchesBy(() => change('1'));
  expect(patches).toEqual({ removals: 0, applies: LARGE });
  expect(versionsOf(small)).toEqual(before);
}, 180_000);

/** Milliseconds until the last node of the large pool has a changed label. */
async function change(tier: string): Promise<number> {
  const startMs = performance.now();
  await stage.relabel('large', { tier, keep: 'large' });
  return (await allHave(large, tier)) - startMs;
}

test.runIf(FULL)(
  'the time that a change takes, over the time of a bare loop of applies',
  async ({ annotate }) => {
    for (const tier of ['2', '3', '4', '5']) {
      const tookMs = Math.round(await change(tier));
      const floorsMs = [];
      for (const concurrency of [16, 32, 64]) {
        const { ms, remove } = await measureFloor(stage.api, large, {
          kind: 'apply',
          concurrency,
          keys: ['floor.io/tier'],
        });
        floorsMs.push(Math.round(ms));
        await remove();
      }
      await annotate(`${LARGE} nodes in ${tookMs} ms; with 16, 32, 64 at a time, a loop takes ${floorsMs} ms`);
    }
  },
  240_000,
);

test('a change that takes a key out is two, and a deleted set one', async () => {
  const both = await stage.patchesBy(async () => {
    await stage.relabel('large', { keep: 'large', more: '1' });
    await allHave(large, undefined);
  });
  expect(both).toEqual({ removals: LARGE, applies: LARGE });
  const before = versionsOf(small);
  const all = await stage.patchesBy(async () => {
    await stage.removePool('large');
    const isBare = (name: string) => stage.states.last(name)?.labels['keep'] === undefined;
    await waitFor('all labels to go', () => large.every(isBare), { timeoutMs: 60_000 });
  });
  expect(all).toEqual({ removals: LARGE, applies: 0 });
  expect(versionsOf(small)).toEqual(before);
}, 180_000);
