import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type HangingWebhook, startHangingWebhook } from './hanging-webhook.ts';
import {
  type Cluster,
  coordinatorClient,
  label,
  newNode,
  startCluster,
  startWriterRig,
  type WriterRig,
} from './writer-rig.ts';

/** An admission webhook for one pool that does not answer, and the Nodes of another pool. */

const POOL = 'example.com/pool';
const READY = 'example.com/ready';
const nodesOf = (pool: string, count: number) => Array.from({ length: count }, (_, index) => `${pool}-${index}`);
const hanging = nodesOf('hanging', 120);
const well = nodesOf('well', 5);
const ready = label(READY, 'true', { ownership: 'exclusive', sinceMs: 0 });
const notReady = { ...ready, stance: 'absent' } as const;

let cluster: Cluster;
let rig: WriterRig;
let webhook: HangingWebhook | undefined;

beforeAll(async () => {
  cluster = await startCluster();
  for (const name of hanging) await newNode(cluster, name, { labels: { [POOL]: 'hanging' } });
  for (const name of well) await newNode(cluster, name, { labels: { [POOL]: 'well' } });
});
beforeEach(async () => {
  rig = startWriterRig(cluster, { client: coordinatorClient(cluster) });
  const all = [...hanging, ...well];
  for (const [index, name] of all.entries()) await rig.sees(name, POOL, index < hanging.length ? 'hanging' : 'well');
  for (const name of all) rig.want(name, [ready]);
  await waitFor('all labels', async () => (await withLabel('hanging')) + (await withLabel('well')) === all.length, {
    timeoutMs: 60_000,
  });
});
afterEach(async () => {
  await webhook?.stop();
  await rig.stop();
});
afterAll(() => cluster?.controlPlane.stop());

/** The number of Nodes of a pool that have the label. */
async function withLabel(pool: string): Promise<number> {
  const nodes = await cluster.controlPlane.api.list('/api/v1/nodes');
  return nodes.filter(({ metadata: { labels } }) => labels?.[POOL] === pool && labels[READY] !== undefined).length;
}

describe.each([
  { what: 'hang', failurePolicy: 'Fail', timeoutSeconds: 30 },
  { what: 'pass after five seconds', failurePolicy: 'Ignore', timeoutSeconds: 5 },
] as const)('while the writes of 120 nodes $what', ({ failurePolicy, timeoutSeconds }) => {
  test('the other nodes lose and get their labels soon', async () => {
    const options = { matchLabels: { [POOL]: 'hanging' }, failurePolicy, timeoutSeconds, probe: 'hanging-0' };
    webhook = await startHangingWebhook(cluster, options);
    for (const name of [...hanging, ...well]) rig.want(name, [notReady]);
    // One after another in 16 slots, they would take 40 s at least.
    const soon = { timeoutMs: 15_000 };
    await waitFor('the other labels to go', async () => (await withLabel('well')) === 0, soon);
    expect(await withLabel('hanging')).toBeGreaterThan(hanging.length / 2);
    for (const name of well) rig.want(name, [ready]);
    await waitFor('the other labels to come', async () => (await withLabel('well')) === well.length, soon);
    await waitFor('few writes to be under way', () => webhook !== undefined && webhook.waiting() <= 8, soon);
    for (const name of well) rig.want(name, [notReady]);
    await waitFor('the other labels to go again', async () => (await withLabel('well')) === 0, soon);
    expect(await withLabel('hanging')).toBeGreaterThan(0);
    webhook.relent();
    const later = { timeoutMs: 60_000 };
    await waitFor('the labels of the pool to go', async () => (await withLabel('hanging')) === 0, later);
  });
});
