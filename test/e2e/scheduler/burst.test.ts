import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PodObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { SchedulerStage } from './scheduler-stage.ts';

const WORKSPACES = 200;
const PER_NODE = 50;

/** `dense`: as many may start on a node as fit. Otherwise those that start have to be spread. */
describe.each([
  ['fill nodes to the limit, one after the other', PER_NODE, 'dense'],
  ['are spread so that no more start on a node than may', 8, 'spread'],
])('200 workspaces at once', (what, startingMax, outcome) => {
  let stage: SchedulerStage;
  beforeAll(async () => {
    const coordinatorArgs = [`--max-workspaces-per-node=${PER_NODE}`, `--max-starting-per-node=${startingMax}`];
    stage = await SchedulerStage.start({ nodes: 6, coordinatorArgs });
  });
  afterAll(() => stage?.stop());

  test(what, async ({ annotate }) => {
    const path = '/api/v1/namespaces/default/pods?labelSelector=component%3Dworkspace';
    let mostStarting = 0;
    let watching = true;
    const look = async () => {
      const pods = await stage.api.list<PodObject & { status: { phase?: string } }>(path);
      const placed = pods.filter(({ spec }) => spec.nodeName !== undefined);
      const starting = placed.filter(({ status }) => status.phase === 'Pending');
      for (const each of Map.groupBy(starting, ({ spec }) => spec.nodeName).values()) {
        mostStarting = Math.max(mostStarting, each.length);
      }
      return Map.groupBy(placed, ({ spec }) => spec.nodeName ?? '');
    };
    stage.startKubelet();
    const looking = (async () => {
      while (watching) await look();
    })();
    const fromMs = performance.now();
    await Promise.all(Array.from({ length: WORKSPACES }, (_, index) => stage.workspace(`ws-${index}`)));
    const placedCount = async () => [...(await look()).values()].reduce((sum, pods) => sum + pods.length, 0);
    await waitFor('every workspace to have a node', async () => (await placedCount()) === WORKSPACES, {
      timeoutMs: 120_000,
      everyMs: 250,
    });
    const tookMs = Math.round(performance.now() - fromMs);
    watching = false;
    await looking;
    const sizes = [...(await look()).values()].map((pods) => pods.length).sort((a, b) => b - a);
    await annotate(`${tookMs} ms; workspaces by node: ${sizes.join(', ')}; at most ${mostStarting} starting on one`);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PER_NODE);
    expect(mostStarting).toBeLessThanOrEqual(startingMax);
    if (outcome === 'dense') expect(sizes).toEqual(Array.from({ length: WORKSPACES / PER_NODE }, () => PER_NODE));
  });
});
