import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { startWebhook, type Verdict, type Webhook } from '../apply/webhook.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

// What the API server calls invalid, with the field, for a while: the key alone is out, and is soon tried again.

const KIND_OF_FIELD = { label: 'metadata.labels', taint: 'spec.taints', condition: 'status.conditions' } as const;

type Kind = keyof typeof KIND_OF_FIELD;
type Refusal = { node: string; kind: Kind; key: string };

let cluster: EmbeddedCluster;
let rig: Rig;
let webhook: Webhook;
const refusals = new Set<Refusal>();
const refusedAtMs: number[] = [];

beforeAll(async () => {
  cluster = await embeddedCluster('no fence');
  await applyNodeServiceCrd(cluster.controlPlane);
  rig = await Rig.start({ cluster, nodes: 0 });
  await createNode(cluster.api, 'probe');
  webhook = await startWebhook(cluster, 'probe', decide);
});
afterAll(async () => {
  await webhook?.stop();
  await rig?.stop();
  await cluster?.stop();
});

function decide({ metadata, spec, status }: Parameters<Parameters<typeof startWebhook>[2]>[0]): Verdict {
  for (const { node, kind, key } of refusals) {
    const keys = {
      label: Object.keys(metadata.labels ?? {}),
      taint: (spec?.taints ?? []).map((each) => each.key),
      condition: (status?.conditions ?? []).map(({ type }) => type),
    };
    if (metadata.name !== node || !keys[kind].includes(key)) continue;
    refusedAtMs.push(performance.now());
    const causes = [{ reason: 'FieldValueInvalid', message: 'not now', field: KIND_OF_FIELD[kind] }];
    return { status: { code: 422, reason: 'Invalid', message: 'not now', details: { kind: 'Node', causes } } };
  }
  return {};
}

const node = (name: string) => cluster.api.get<NodeObject>(`/api/v1/nodes/${name}`);

/** Creates a Node and a service that selects it alone, with a Ready pod of this service or without any. */
async function nodeWithService(name: string, ready: boolean, publish: object): Promise<void> {
  await createNode(cluster.api, name, { labels: { of: name } });
  if (ready) await createPod(cluster.api, { namespace: 'default', name, nodeName: name, ready, labels: { app: name } });
  await service(name, name, publish);
}

function service(name: string, of: string, publish: object): Promise<unknown> {
  const pods = { namespace: 'default', selector: { matchLabels: { app: of } } };
  const nodeSelector = { matchLabels: { of } };
  return cluster.api.post(NODE_SERVICES, nodeService(name, { nodeSelector, checks: [{ name: 'pod', pods }], publish }));
}

/** When the webhook refused, in seconds since the first time; a search asks several times at once. */
function triesInSeconds(): number[] {
  const first = refusedAtMs[0] ?? 0;
  const tries = refusedAtMs.filter((atMs, index) => atMs - (refusedAtMs[index - 1] ?? Number.NEGATIVE_INFINITY) > 1000);
  return tries.map((atMs) => (atMs - first) / 1000);
}

test('a label that a webhook calls invalid once is tried again after 2 s, then 4 s, and comes', async () => {
  const refusal: Refusal = { node: 'hooked', kind: 'label', key: 'example.com/hooked' };
  refusals.add(refusal);
  refusedAtMs.length = 0;
  await nodeWithService('hooked', true, { label: refusal.key });
  await expect.poll(triesInSeconds, { timeout: 30_000 }).toHaveLength(3);
  refusals.delete(refusal);
  const [, second = 0, third = 0] = triesInSeconds();
  expect([second, third - second]).toEqual([expect.closeTo(2.5, 0), expect.closeTo(4.5, 0)]);
  await rig.history.until('hooked', refusal.key, 'true', 10_000);
});

test.each(['label', 'taint', 'condition'] as const)(
  'a %s that a webhook calls invalid holds up no other key of the Node, and comes when it may',
  async (kind) => {
    const name = `bad-${kind}`;
    const key = kind === 'taint' ? `readiness.k8s.io/${name}` : `example.com/${name}`;
    const refusal: Refusal = { node: name, kind, key };
    refusals.add(refusal);
    await nodeWithService(name, kind !== 'taint', { [kind]: kind === 'taint' ? { key, effect: 'NoSchedule' } : key });
    await waitFor('a refusal', () => webhook.asked(name) > 0, { timeoutMs: 30_000 });
    await createPod(cluster.api, {
      ...{ namespace: 'default', name: `${name}-other`, nodeName: name, ready: true },
      labels: { app: `${name}-other` },
    });
    const pods = { namespace: 'default', selector: { matchLabels: { app: `${name}-other` } } };
    await cluster.api.post(
      NODE_SERVICES,
      nodeService(`${name}-other`, {
        nodeSelector: { matchLabels: { of: name } },
        checks: [{ name: 'pod', pods }],
        publish: { label: `example.com/${name}-other`, condition: `example.com/${name}-other` },
      }),
    );
    await rig.history.until(name, `example.com/${name}-other`, 'true', 10_000);
    const isThere = async () => {
      const { metadata, spec, status } = await node(name);
      const { conditions = [] } = status as { conditions?: { type: string }[] };
      const there = {
        label: metadata.labels?.[key] !== undefined,
        taint: spec.taints?.some((each) => each.key === key) === true,
        condition: conditions.some(({ type }) => type === key),
      };
      return { ...there, other: conditions.some(({ type }) => type === `example.com/${name}-other`) };
    };
    await expect.poll(isThere, { timeout: 10_000 }).toMatchObject({ other: true, [kind]: false });
    refusals.delete(refusal);
    await expect.poll(isThere, { timeout: 30_000 }).toMatchObject({ other: true, [kind]: true });
  },
);

test('a label of a service comes soon after a Node that was full of annotations has room', async () => {
  await createNode(cluster.api, 'full', {
    labels: { of: 'full' },
    annotations: { 'example.com/much': 'x'.repeat(262_100) },
  });
  await createPod(cluster.api, {
    namespace: 'default',
    name: 'full',
    nodeName: 'full',
    ready: true,
    labels: { app: 'full' },
  });
  await service('full', 'full', { label: 'example.com/full' });
  const leader = await rig.leader();
  const skipped = async () => JSON.stringify((await leader.explain('full')).keys.filter((each) => each.skipped));
  await expect.poll(skipped, { timeout: 30_000 }).toMatch(/invalid/);
  await cluster.api.patch('/api/v1/nodes/full', { metadata: { annotations: { 'example.com/much': null } } });
  await rig.history.until('full', 'example.com/full', 'true', 30_000);
});
