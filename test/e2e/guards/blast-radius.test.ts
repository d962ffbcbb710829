import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { eachOf } from '../../scale/each-of.ts';
import { RuleStage } from '../hardware/rule-stage.ts';
import { PoolStage } from '../pools/pool-stage.ts';

const POOL = 'nodepool.banzaicloud.io/name';
const NODES = 36;
const AT_ONCE = 10;

type Stage = Pick<PoolStage, 'api' | 'rig'>;

/** How many nodes have the label. */
async function having({ api }: Stage, key: string): Promise<number> {
  const nodes = await api.list<NodeObject>('/api/v1/nodes');
  return nodes.filter(({ metadata }) => metadata.labels?.[key] !== undefined).length;
}

async function untilHaving(stage: Stage, key: string, count: number): Promise<void> {
  await waitFor(`${count} nodes with ${key}`, async () => (await having(stage, key)) === count, { timeoutMs: 30_000 });
}

async function untilHeld({ rig }: Stage, count: number): Promise<void> {
  const leader = await rig.leader();
  const held = () => leader.metric('rollcall_coordinator_guarded_nodes', { subject: 'configuration' });
  await waitFor(`${count} labels to be held`, async () => (await held()) === count, { timeoutMs: 30_000 });
}

async function makeNodes({ api }: Stage, labelsOf: (index: number) => Record<string, string>): Promise<void> {
  const names = Array.from({ length: NODES }, (_, index) => `n${index}`);
  await eachOf(names, 8, (name, index) => createNode(api, name, { labels: labelsOf(index) }));
}

describe('labels of pools', () => {
  let stage: PoolStage;
  beforeAll(async () => {
    stage = await PoolStage.start();
    await makeNodes(stage, (index) => ({ [POOL]: index % 2 === 0 ? 'even' : 'odd' }));
    for (const pool of ['even', 'odd']) await stage.pool(pool, { tier: pool, cost: '1' });
    await untilHaving(stage, 'cost', NODES);
  });
  afterAll(() => stage?.stop());

  test('leave ten nodes where the namespace is wrong, and are back on all of them where that is mended', async () => {
    await stage.whileDown(async () => {}, ['--pool-namespace=elsewhere']);
    // The label and another one.
    await untilHeld(stage, 2 * (NODES - AT_ONCE));
    await untilHaving(stage, 'tier', NODES - AT_ONCE);
    await waitFor('an Event about it', async () => {
      const events = await stage.api.list<KubeObject & { reason?: string }>('/api/v1/events');
      return events.some(({ reason }) => reason === 'GuardActive');
    });
    const leader = await stage.rig.leader();
    const document = await leader.console<{ replica: { guards: object[] } }>('/v1/nodes');
    expect(document?.replica.guards).toContainEqual({ subject: 'configuration', of: 'tier', nodes: 26 });
    await stage.whileDown(async () => {});
    await untilHaving(stage, 'tier', NODES);
    await untilHeld(stage, 0);
  });

  test('leave all nodes at once where one set is changed, or deleted', async () => {
    await stage.relabel('even', { tier: 'even' });
    await untilHaving(stage, 'cost', NODES / 2);
    // Two changes within a minute would be more than one.
    await stage.whileDown(async () => {});
    await untilHaving(stage, 'cost', NODES / 2);
    await stage.removePool('odd');
    await untilHaving(stage, 'cost', 0);
    await untilHaving(stage, 'tier', NODES / 2);
  });

  test('leave the nodes after the delay, and lists name them until then', async () => {
    const delay = ['--mass-withdrawal-delay-seconds=6', '--pool-namespace=elsewhere'];
    await stage.whileDown(async () => {}, delay);
    await untilHeld(stage, NODES / 2 - AT_ONCE);
    await untilHaving(stage, 'tier', NODES / 2 - AT_ONCE);
    const nodes = await stage.api.list<NodeObject>('/api/v1/nodes');
    const kept = nodes.filter(({ metadata }) => metadata.labels?.['tier'] !== undefined);
    expect(kept).toHaveLength(NODES / 2 - AT_ONCE);
    const lists = kept.map(({ metadata }) => metadata.annotations?.['nodepool.banzaicloud.io/managed-labels']);
    expect(new Set(lists)).toEqual(new Set(['["tier"]']));
    await untilHaving(stage, 'tier', 0);
    await untilHaving(stage, 'nodepool.banzaicloud.io/managed-labels', 0);
  });
});

describe('labels of rules', () => {
  let stage: RuleStage;
  beforeAll(async () => {
    const files = { 'example.org/a': 'x\n', 'example.org/b': 'x\n' };
    stage = await RuleStage.start(files, ['--mass-withdrawal-delay-seconds=6']);
    await makeNodes(stage, () => ({ x: '1' }));
    await untilHaving(stage, 'example.org/b', NODES);
  });
  afterAll(() => stage?.stop());

  test('leave ten nodes where the directory is emptied, and the others after the delay', async () => {
    await Promise.all(['example.org', 'marked'].map((file) => stage.remove(file)));
    await untilHeld(stage, 2 * (NODES - AT_ONCE));
    await untilHaving(stage, 'example.org/a', NODES - AT_ONCE);
    await untilHaving(stage, 'example.org/a', 0);
    await untilHaving(stage, 'example.org/b', 0);
  });
});
