import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { POOL_KEYS_LENGTH_MAX } from '@rollcall/common/pool-labels.ts';
import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { applyDeployed, nodePoolLabels, POOL, poolLabelsPath } from '../pools/pool-cluster.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from '../services/node-services.ts';

/** What the API server lets all annotations of an object have together, in bytes. */
const ANNOTATIONS_BYTES_MAX = 256 * 1024;
/** More than the budgets for bytes admit of keys that are as long as they can be. */
const SERVICES = 60;
const RULES = 400;
const POOL_LABELS = Math.floor(POOL_KEYS_LENGTH_MAX / 316);
const TIMEOUT_MS = 120_000;

let cluster: EmbeddedCluster;
let rig: Rig;
let rules: string;

/** The longest key: 253 characters before the slash, and 63 after it. */
const long = (kind: string, index: number) => {
  const domain = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(60 - kind.length)}${kind}`;
  return `${domain.slice(0, 253)}/${'k'.repeat(59)}${String(index).padStart(4, '0')}`;
};
const each = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));

beforeAll(async () => {
  cluster = await embeddedCluster('no fence');
  await applyNodeServiceCrd(cluster.controlPlane);
  await applyDeployed(cluster, 'crds/nodepoollabels.yaml');
  await waitFor('NodePoolLabels to be served', () => cluster.api.list(poolLabelsPath()));
  rules = await mkdtemp(path.join(tmpdir(), 'rollcall-full-'));
  for (let index = 0; index < RULES; index += 1) {
    const file = path.join(rules, long('r', index));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, `mark => ${'v'.repeat(63)}\n`);
  }
  const conditions = ['--services-conditions'];
  rig = await Rig.start({ cluster, nodes: 0, coordinatorArgs: [`--label-dir=${rules}`, ...conditions] });
}, TIMEOUT_MS);
afterAll(async () => {
  await rig?.stop();
  await cluster?.stop();
  await rm(rules, { recursive: true, force: true });
});

const node = () => cluster.api.get<NodeObject>('/api/v1/nodes/full');
const bytesOf = (annotations: Readonly<Record<string, string>>) =>
  Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0);

test('a Node with all keys that the budgets admit can still be written, and loses them again', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { api } = cluster;
  // Whatever else is on it: kubelets and cloud providers have annotations, too.
  await createNode(api, 'full', {
    labels: { [POOL]: 'gold', mark: '1' },
    annotations: { 'example.com/other': 'o'.repeat(8 * 1024) },
  });
  const labels = Object.fromEntries(each(POOL_LABELS, (index) => [long('p', index), 'v'.repeat(63)]));
  await api.post(poolLabelsPath(), nodePoolLabels('gold', labels));
  for (let index = 0; index < SERVICES; index += 1) {
    const key = long('s', index);
    const publish = { label: key, taint: { key, value: 'v'.repeat(63), effect: 'NoSchedule' }, condition: key };
    const pods = { namespace: 'default', selector: { matchLabels: { app: 'none' } } };
    const checks = [{ name: 'pod', pods }];
    await api.post(
      NODE_SERVICES,
      nodeService(`full-${index}`, { checks, publish, nodeSelector: { matchLabels: { mark: '1' } } }),
    );
  }
  await waitFor(
    'all services to be judged',
    async () =>
      (await Promise.all(each(SERVICES, (index) => conditionOf(api, `full-${index}`, 'Ready')))).every(
        (said) => said !== '',
      ),
    { timeoutMs: TIMEOUT_MS },
  );
  const said = await Promise.all(each(SERVICES, (index) => conditionOf(api, `full-${index}`, 'Ready')));
  const accepted = said.filter((each) => each.startsWith('True')).length;
  expect([accepted > 10, accepted < SERVICES]).toEqual([true, true]);
  const expectAll = async () => {
    const { spec, metadata } = await node();
    const kinds = ['p', 'r'].map(
      (kind) => Object.keys(metadata.labels ?? {}).filter((key) => key.includes(`${kind}/k`)).length,
    );
    return { kinds, taints: (spec.taints ?? []).filter(({ key }) => key.includes('s/k')).length, metadata };
  };
  await expect.poll(async () => (await expectAll()).taints, { timeout: TIMEOUT_MS }).toBe(accepted);
  await expect.poll(async () => (await expectAll()).kinds[0], { timeout: 30_000 }).toBeGreaterThan(40);
  await expect.poll(async () => (await expectAll()).kinds[1], { timeout: 30_000 }).toBeGreaterThan(50);
  const { metadata } = await node();
  const annotations = metadata.annotations ?? {};
  // As full as the budgets let it be, and with room for others.
  expect(annotations[KEYS_ANNOTATION]?.length).toBeGreaterThan(POOL_KEYS_LENGTH_MAX + 32 * 1024);
  expect(bytesOf(annotations)).toBeLessThan(ANNOTATIONS_BYTES_MAX - 32 * 1024);
  await api.patch(
    '/api/v1/nodes/full',
    { metadata: { annotations: { 'example.com/more': 'm'.repeat(16 * 1024) } } },
    'application/merge-patch+json',
  );

  // The coordinator can write it as well: a key that goes goes, and one that comes comes.
  await api.patch('/api/v1/nodes/full', { metadata: { labels: { mark: null } } }, 'application/merge-patch+json');
  await expect
    .poll(
      async () => {
        const { kinds, taints } = await expectAll();
        return [kinds[1], taints];
      },
      { timeout: TIMEOUT_MS },
    )
    .toEqual([0, 0]);
  await api.patch('/api/v1/nodes/full', { metadata: { labels: { mark: '1' } } }, 'application/merge-patch+json');
  await expect.poll(async () => (await expectAll()).taints, { timeout: TIMEOUT_MS }).toBe(accepted);
});
