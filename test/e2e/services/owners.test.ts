import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode, createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { applyDeployed, nodePoolLabels, POOL, poolLabelsPath } from '../pools/pool-cluster.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

// Keys that several want, and keys of others on Nodes that a service does not select.

let cluster: EmbeddedCluster;
let rig: Rig;
let rules: string;

beforeAll(async () => {
  cluster = await embeddedCluster('no fence');
  await applyNodeServiceCrd(cluster.controlPlane);
  await applyDeployed(cluster, 'crds/nodepoollabels.yaml');
  await waitFor('NodePoolLabels to be served', () => cluster.api.list(poolLabelsPath()));
  rules = await mkdtemp(path.join(tmpdir(), 'rollcall-owners-'));
  await writeRule('example.com/of-rule', 'mark\n');
  rig = await Rig.start({ cluster, nodes: 0, coordinatorArgs: [`--label-dir=${rules}`] });
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.stop();
  await rm(rules, { recursive: true, force: true });
});

async function writeRule(label: string, content: string): Promise<void> {
  await mkdir(path.join(rules, path.dirname(label)), { recursive: true });
  await writeFile(path.join(rules, label), content);
}

const labelled = (node: string, key: string, value: string | undefined) => rig.history.until(node, key, value, 30_000);
const publish = (name: string, publish: object, more: object = {}) => {
  const pods = { namespace: 'default', selector: { matchLabels: { app: name } } };
  return cluster.api.post(NODE_SERVICES, nodeService(name, { checks: [{ name: 'pod', pods }], publish, ...more }));
};
const refused = (name: string) =>
  expect.poll(() => conditionOf(cluster.api, name, 'Ready'), { timeout: 30_000 }).toMatch(/^False /);

test('a label that a pool or a rule has on Nodes stays, and a NodeService that comes to want it is refused', async () => {
  await createNode(cluster.api, 'pooled', { labels: { [POOL]: 'gold', mark: '1' } });
  await cluster.api.post(poolLabelsPath(), nodePoolLabels('gold', { 'example.com/of-pool': 'x' }));
  await labelled('pooled', 'example.com/of-pool', 'x');
  await labelled('pooled', 'example.com/of-rule', 'true');
  await publish('takes-pool', { label: 'example.com/of-pool' });
  await publish('takes-rule', { label: 'example.com/of-rule' });
  await refused('takes-pool');
  await refused('takes-rule');
  expect(await conditionOf(cluster.api, 'takes-pool', 'Ready')).toBe(
    'False KeyTaken: The label example.com/of-pool already belongs to NodePoolLabels rollcall/gold, which has it on Nodes',
  );
  expect(await conditionOf(cluster.api, 'takes-rule', 'Ready')).toMatch(/belongs to the rule example.com\/of-rule/);
  await sleep(2000);
  expect(rig.history.labels('pooled')).toMatchObject({ 'example.com/of-pool': 'x', 'example.com/of-rule': 'true' });
});

test('a pool that comes to want the label of a NodeService is refused, and does not say that nodes have it', async () => {
  await createNode(cluster.api, 'silver', { labels: { [POOL]: 'silver' } });
  await createPod(cluster.api, {
    ...{ namespace: 'default', name: 'has-label', nodeName: 'silver', ready: true },
    labels: { app: 'has-label' },
  });
  await publish('has-label', { label: 'example.com/of-service' });
  await labelled('silver', 'example.com/of-service', 'true');
  await cluster.api.post(poolLabelsPath(), nodePoolLabels('silver', { 'example.com/of-service': 'x' }));
  type Pool = KubeObject & { status?: { nodesLabelled: number; conditions: { type: string; message: string }[] } };
  const statusOf = async () => (await cluster.api.get<Pool>(`${poolLabelsPath()}/silver`)).status;
  const ready = async () => (await statusOf())?.conditions.find(({ type }) => type === 'Ready')?.message;
  const message = 'It sets no labels: example.com/of-service belongs to the NodeService has-label';
  await expect.poll(ready, { timeout: 30_000 }).toBe(message);
  expect((await statusOf())?.nodesLabelled).toBe(0);
  expect(rig.history.labels('silver')).toMatchObject({ 'example.com/of-service': 'true' });
});

test('what others set on a Node that a service does not select stays', async () => {
  const [label, taint] = [
    'example.com/of-others',
    { key: 'readiness.k8s.io/of-others', effect: 'NoSchedule' as const },
  ];
  await createNode(cluster.api, 'a1', { labels: { group: 'a' } });
  await createNode(cluster.api, 'b1', { labels: { group: 'b', [label]: 'mine' }, taints: [taint] });
  const selector = { nodeSelector: { matchLabels: { group: 'a' } } };
  await publish('of-others', { label, taint: { key: taint.key, effect: 'NoSchedule' } }, selector);
  const node = (name: string) => cluster.api.get<NodeObject>(`/api/v1/nodes/${name}`);
  await waitFor('the taint', async () => (await node('a1')).spec.taints?.some(({ key }) => key === taint.key));
  await sleep(2000);
  const { metadata, spec } = await node('b1');
  expect([metadata.labels?.[label], spec.taints]).toEqual(['mine', [expect.objectContaining(taint)]]);
});

test('a line of a rule is refused that derives the label by which an older NodeService selects', async () => {
  await createNode(cluster.api, 'gpu', { labels: { 'example.com/gpu': 'x' } });
  await createPod(cluster.api, {
    ...{ namespace: 'default', name: 'selecting', nodeName: 'gpu', ready: true },
    labels: { app: 'selecting' },
  });
  await publish(
    'selecting',
    { label: 'example.com/selecting' },
    { nodeSelector: { matchLabels: { 'example.com/gpu': 'x' } } },
  );
  await publish('driver', { label: 'example.com/driver' });
  await labelled('gpu', 'example.com/selecting', 'true');
  await writeRule('example.com/gpu', 'example.com/driver => x\nmark => x\n');
  const leader = await rig.leader();
  type Problems = { problems: { file: string; line?: number; problem: string }[] };
  const problems = async () => (await leader.console<Problems>('/v1/rules'))?.problems ?? [];
  await expect.poll(problems, { timeout: 30_000 }).toMatchObject([{ file: 'example.com/gpu', line: 1 }]);
  expect((await problems())[0]?.problem).toMatch(/nodeSelector of the NodeService selecting/);
  expect(await leader.metric('rollcall_coordinator_rule_problems')).toBe(1);
  await expect.poll(() => conditionOf(cluster.api, 'selecting', 'Ready'), { timeout: 30_000 }).toMatch(/^True /);
  expect(rig.history.labels('gpu')).toMatchObject({ 'example.com/selecting': 'true' });
  await labelled('pooled', 'example.com/gpu', 'x');
});

test('a label of a rule goes although managedFields were reset', async () => {
  const path = '/api/v1/nodes/reset';
  await createNode(cluster.api, 'reset', { labels: { mark: '1' } });
  await labelled('reset', 'example.com/of-rule', 'true');
  await cluster.api.patch(path, { metadata: { managedFields: [{}] } });
  await cluster.api.patch<KubeObject>(path, { metadata: { labels: { mark: null } } });
  await labelled('reset', 'example.com/of-rule', undefined);
});
