import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { MANAGED, POOL } from './pool-cluster.ts';
import { PoolStage } from './pool-stage.ts';

// What Banzai's nodepool-labels-operator leaves on the Nodes when rollcall starts.

/** The default field manager of client-go: the name of the program, /app. */
const OPERATOR = 'app';
const GKE = 'cloud.google.com/gke-nodepool';
const OF_README = 'node.banzaicloud.io/nodepool';
const ROLE = 'node-role.kubernetes.io/worker';
const HANDED_OVER = 'node.k8s.io/kind';

type Node = { pools: Record<string, string>; labels?: Record<string, string>; list?: string };

const LABELS = { environment: 'testing', team: 'rnd' };
const LIST = '["team","environment"]';
const NODES: Record<string, Node> = {
  // The operator's order of labels: Google's is second, and the one of its README is not in the list.
  gke: { pools: { [GKE]: 'a1', [OF_README]: 'pool-a1' }, labels: LABELS, list: LIST },
  // An operator with another list: the label of its README came first.
  readme: { pools: { [GKE]: 'b1', [OF_README]: 'pool-b1' }, labels: LABELS, list: LIST },
  both: { pools: { [GKE]: 'c1', [OF_README]: 'pool-c1' }, labels: LABELS, list: LIST },
  unseen: { pools: { 'eks.amazonaws.com/nodegroup': 'a1' }, list: '[]' },
  roles: {
    pools: { [POOL]: 'roles' },
    labels: { [ROLE]: '', [HANDED_OVER]: 'x', agent: 'blue', team: 'rnd' },
    list: `["${ROLE}","${HANDED_OVER}","agent","team"]`,
  },
};

let stage: PoolStage;
const names: Record<string, string> = {};
const nameOf = (node: string) => names[node] ?? '';
beforeAll(async () => {
  stage = await PoolStage.start({
    coordinatorArgs: ['--dry-run', `--pools-removed-labels=${HANDED_OVER}`],
    fence: { removedLabels: [HANDED_OVER], reservedDomains: ['k8s.io', 'kubernetes.io', 'tier'] },
    prepare: async (early) => {
      for (const [node, { pools, labels = {}, list = '[]' }] of Object.entries(NODES)) {
        names[node] = await early.node(undefined, pools);
        const body = { metadata: { labels, annotations: { [MANAGED]: list } } };
        const path = `/api/v1/nodes/${names[node]}?fieldManager=${OPERATOR}`;
        await early.api.patch(path, body, 'application/merge-patch+json');
      }
      await early.pool('a1', LABELS);
      await early.pool('pool-b1', LABELS);
      await early.pool('c1', { environment: 'production' });
      await early.pool('pool-c1', LABELS);
      await early.pool('roles', { [ROLE]: '', [HANDED_OVER]: 'x', agent: 'blue', team: 'rnd' });
    },
  });
});
afterAll(() => stage?.stop());

type Plan = {
  nodes: { name: string; changes: { kind: string; key: string; from?: string; to?: string }[] }[];
  newInPools: string[];
  left: { key: string; reason: string; nodes: string[] }[];
};

describe('before it writes', () => {
  test('the plan takes nothing from a node, lists what is left, and who is new in a pool apart from the rest', async () => {
    const plan = async () => (await (await stage.rig.leader()).console<Plan>('/v1/plan')) as Plan;
    await expect.poll(async () => (await plan()).newInPools, { timeout: 10_000 }).toEqual([nameOf('unseen')]);
    const { nodes, left } = await plan();
    const gone = nodes.flatMap(({ changes }) => changes.filter(({ kind, to }) => kind === 'label' && to === undefined));
    expect(gone.map(({ key }) => key)).toEqual([HANDED_OVER]);
    const leftOn = (node: string) =>
      left
        .filter(({ nodes: on }) => on.includes(nameOf(node)))
        .map(({ key }) => key)
        .sort();
    expect(Object.keys(NODES).map(leftOn)).toEqual([
      [],
      ['environment', 'team'],
      ['environment', 'team'],
      [],
      ['agent', ROLE],
    ]);
    expect(left[0]?.reason).toContain('in the pool b1, but another label names the pool pool-b1');
  });
});

describe('once it writes', () => {
  beforeAll(() => stage.whileDown(async () => {}, ['--dry-run=false']));

  test('labels stay on nodes that another label puts into another pool, and the sets and Events say so', async () => {
    await stage.until(nameOf('unseen'), { labels: LABELS, managed: ['environment', 'team'] });
    for (const node of ['gke', 'readme', 'both'])
      await stage.until(nameOf(node), { labels: LABELS, managed: ['environment', 'team'] });
    const { conditions } = await stage.untilStatus('pool-b1', ({ conditions: all }) => all.length > 0);
    const labelled = conditions.find(({ type }) => type === 'NodesLabelled');
    expect(labelled).toMatchObject({ status: 'False', reason: 'NodesInOtherPool' });
    expect(labelled?.message).toContain(`0 of 0 nodes have the labels; 1 more keep them`);
    const events = async () =>
      (await stage.api.list<KubeObject & { reason?: string; involvedObject?: { name: string } }>('/api/v1/events'))
        .filter(({ reason }) => reason === 'NodesInOtherPool')
        .map(({ involvedObject }) => involvedObject?.name)
        .sort();
    await expect.poll(events, { timeout: 10_000 }).toEqual(['pool-b1', 'pool-c1']);
  });

  test('when a person removes the label of the other pool, what no set of its pool requests goes', async () => {
    await stage.edit(nameOf('both'), { labels: { [OF_README]: null } });
    await stage.until(nameOf('both'), {
      labels: { environment: 'production', team: undefined },
      managed: ['environment'],
    });
  });

  test('keys that pools may not set stay listed, and one that was handed over goes', async () => {
    const roles = nameOf('roles');
    const kept = { [ROLE]: '', agent: 'blue', team: 'rnd', [HANDED_OVER]: undefined };
    await stage.until(roles, { labels: kept, managed: ['agent', ROLE, 'team'] });
    const { refusedKeys } = await stage.untilStatus('roles', ({ nodesLabelled }) => nodesLabelled === 1);
    expect(refusedKeys.map(({ key }) => key)).toEqual(['agent', ROLE, HANDED_OVER]);
  });

  test('they are known when the set is gone', async () => {
    const roles = nameOf('roles');
    await stage.removePool('roles');
    await stage.until(roles, { labels: { [ROLE]: '', team: undefined, agent: 'blue' }, managed: ['agent', ROLE] });
    const { nodes } = (await (
      await stage.rig.leader()
    ).console<{ nodes: { name: string; left?: string[] }[] }>('/v1/nodes')) as {
      nodes: { name: string; left?: string[] }[];
    };
    expect(nodes.find(({ name }) => name === roles)?.left).toEqual(['agent', ROLE]);
  });
});
