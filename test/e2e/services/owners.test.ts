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

test('a rule and a pool may set the empty value, which is put right, and goes with its reason', async () => {
  const [ofRule, ofPool, derived] = ['example.com/empty', 'example.com/empty-of-pool', 'example.com/derived'];
  await writeRule(ofRule, 'agentpool = dpu => \n');
  await writeRule(derived, `${ofRule} = => 1\n`);
  await cluster.api.post(poolLabelsPath(), nodePoolLabels('dpu', { [ofPool]: '' }));
  await createNode(cluster.api, 'dpu', { labels: { agentpool: 'dpu' } });
  for (const key of [ofRule, ofPool]) await labelled('dpu', key, '');
  await labelled('dpu', derived, '1');
  const edit = (labels: Record<string, string | null>) =>
    cluster.api.patch<KubeObject>('/api/v1/nodes/dpu', { metadata: { labels } });
  for (const key of [ofRule, ofPool]) {
    await edit({ [key]: 'x' });
    await labelled('dpu', key, '');
    await edit({ [key]: null });
    await labelled('dpu', key, '');
  }
  await edit({ agentpool: 'cpu' });
  for (const key of [ofRule, ofPool, derived]) await labelled('dpu', key, undefined);
  const leader = await rig.leader();
  const rulesSeen = await leader.console<{ problems: { file: string }[] }>('/v1/rules');
  expect(rulesSeen?.problems.map(({ file }) => file)).not.toContain(ofRule);
});

test('a label of a rule goes although managedFields were reset', async () => {
  const path = '/api/v1/nodes/reset';
  await createNode(cluster.api, 'reset', { labels: { mark: '1' } });
  await labelled('reset', 'example.com/of-rule', 'true');
  await cluster.api.patch(path, { metadata: { managedFields: [{}] } });
  await cluster.api.patch<KubeObject>(path, { metadata: { labels: { mark: null } } });
  await labelled('reset', 'example.com/of-rule', undefined);
});

test('keys that a NodeService, a pool and a rule have on Nodes stay when flags come to ask for them', async () => {
  const [OF_SERVICE, OF_POOL, OF_RULE] = ['a', 'b', 'c'].map(
    (namespace) => `gitpod.io/ws-daemon_ready_ns_${namespace}`,
  );
  if (!OF_SERVICE || !OF_POOL || !OF_RULE) throw new Error('three keys');
  await createNode(cluster.api, 'flagged', { labels: { [POOL]: 'flagged', mark: '1' } });
  await createPod(cluster.api, {
    ...{ namespace: 'default', name: 'flagged', nodeName: 'flagged', ready: true },
    labels: { app: 'flagged' },
  });
  await publish('flagged', { label: OF_SERVICE });
  await cluster.api.post(poolLabelsPath(), nodePoolLabels('flagged', { [OF_POOL]: 'x' }));
  await writeRule(OF_RULE, 'mark => x\n');
  await labelled('flagged', OF_SERVICE, 'true');
  await labelled('flagged', OF_POOL, 'x');
  await labelled('flagged', OF_RULE, 'x');
  for (const [namespace, owner] of [
    ['a', /the NodeService flagged, which has it on Nodes/],
    ['b', /NodePoolLabels rollcall\/flagged, which has it on Nodes/],
    ['c', /the rule gitpod.io\/ws-daemon_ready_ns_c, which has it on Nodes/],
  ] as const) {
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    const leader = await rig.addCoordinator([`--namespace=${namespace}`]);
    await rig.leader();
    type Services = { services: { name: string; publish: object; problem?: { message: string } }[] };
    const wsDaemon = async () =>
      (await leader.console<Services>('/v1/services'))?.services.find(({ name }) => name === 'ws-daemon');
    await expect.poll(async () => (await wsDaemon())?.problem?.message, { timeout: 30_000 }).toMatch(owner);
    expect((await wsDaemon())?.publish).not.toHaveProperty('label');
    await sleep(2000);
    const labels = { [OF_SERVICE]: 'true', [OF_POOL]: 'x', [OF_RULE]: 'x' };
    expect(rig.history.labels('flagged')).toMatchObject(labels);
    expect(await conditionOf(cluster.api, 'flagged', 'Ready')).toMatch(/^True /);
  }
}, 180_000);
