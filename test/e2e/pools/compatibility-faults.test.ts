import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { startThrottlingProxy, type ThrottlingProxy } from '../apply/throttling-proxy.ts';
import { MANAGED } from './pool-cluster.ts';
import { PoolStage } from './pool-stage.ts';

const NODES = 12;

let stage: PoolStage;
let proxy: ThrottlingProxy;
const nodes: string[] = [];
beforeAll(async () => {
  stage = await PoolStage.start({
    prepare: async (early) => {
      proxy = await startThrottlingProxy(early.cluster.controlPlane);
      for (let index = 0; index < NODES; index += 1) nodes.push(await early.node('faulty'));
      await early.pool('faulty', { tier: '0' });
    },
  });
});
afterAll(async () => {
  await stage?.stop();
  await proxy?.stop();
});

async function untilAll(tier: string): Promise<void> {
  for (const node of nodes) await stage.until(node, { labels: { tier }, managed: ['tier'] }, 30_000);
}

test('B-14 what an API server refuses for being busy is written later', async () => {
  await stage.whileDown(async () => {}, [`--master=${proxy.url}`]);
  const leader = await stage.rig.leader();
  const release = proxy.hold();
  await stage.relabel('faulty', { tier: 'busy' });
  proxy.throttleNext(6, 1);
  release();
  await untilAll('busy');
  // The news of the change has a connection of its own, so those that were refused were writes, or the Lease's.
  await waitFor('refusals', () => leader.metric('rollcall_coordinator_patches_total', { outcome: 'throttled' }));
  expect(await leader.metric('rollcall_coordinator_patches_total', { outcome: 'failed' })).toBe(0);
});

test('B-9 a label that another client sets while our write is under way is theirs', async () => {
  const node = await stage.node('race');
  const release = proxy.hold();
  const arrived = proxy.arrivalsMs.length;
  await stage.pool('race', { contested: 'ours', free: '1' });
  await waitFor('the write', () => proxy.arrivalsMs.length > arrived);
  await stage.edit(node, { labels: { contested: 'theirs' } });
  release();
  await stage.until(node, { labels: { contested: 'theirs', free: '1' }, managed: ['free'] });
  await stage.settled();
  await stage.until(node, { labels: { contested: 'theirs', free: '1' }, managed: ['free'] });
  await stage.edit(node, { labels: { contested: null } });
  await stage.until(node, { labels: { contested: 'ours', free: '1' }, managed: ['contested', 'free'] });
});

test('B-14 what an API server that is killed does not answer is written when it is back, and nothing is lost', async () => {
  await stage.whileDown(async () => {});
  const { controlPlane } = stage.cluster;
  const since = nodes.map((node) => stage.states.mark(node));
  await stage.relabel('faulty', { tier: 'outage' });
  await controlPlane.killApiServer();
  await controlPlane.restartApiServer();
  await untilAll('outage');
  const node = nodes[0] ?? '';
  await stage.edit(node, { labels: { tier: null } });
  await stage.until(node, { labels: { tier: 'outage' }, managed: ['tier'] });
  // While the API server was starting, it may have said that there are no NodePoolLabelSets: nothing went for that.
  const untouched = since.slice(1).flatMap((states) => states());
  expect(untouched.filter(({ labels, annotations }) => !labels['tier'] || !annotations[MANAGED])).toEqual([]);
});

test('B-22 a set that is created and deleted at once leaves nothing to do, again and again', async () => {
  const node = await stage.node('short');
  const leader = await stage.rig.leader();
  const linesBefore = leader.logs.length;
  const { removals } = await stage.patchesBy(async () => {
    for (let round = 0; round < 5; round += 1) {
      await stage.pool('short', { brief: String(round) });
      await stage.removePool('short');
    }
  });
  expect(removals).toBeLessThan(6);
  await stage.until(node, { labels: { brief: undefined }, managed: undefined });
  const standing = async () => {
    const before = await requests();
    await sleep(2000);
    return (await requests()) === before;
  };
  await waitFor('requests to cease', standing, { timeoutMs: 20_000 });
  const lines = leader.logs.slice(linesBefore);
  expect(lines.filter(({ level, kind }) => level === 'error' || kind === 'NodePoolLabelSet')).toEqual([]);
});

/** Requests about NodePoolLabelSets, watches left out. */
async function requests(): Promise<number> {
  const text = await stage.cluster.controlPlane.metrics();
  const count = (verb: string) => sumSamples(text, 'apiserver_request_total', { verb, resource: 'nodepoollabelsets' });
  return count('GET') + count('LIST') + count('PATCH') + count('APPLY');
}

test('B-23 the environment variables of upstream are understood, lists with commas', async () => {
  const main = path.resolve(import.meta.dirname, '../../../coordinator/dist/main.js');
  const env = {
    NPLSO_CONTROLLER_NAMESPACE: 'pipeline-system',
    NPLSO_CONTROLLER_NODEPOOLNAMELABELS: 'nodepool.banzaicloud.io/name,cloud.google.com/gke-nodepool',
    NPLSO_LABELER_FORBIDDENLABELDOMAINS: 'kubernetes.io,google.com',
  };
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--print-config'], { env });
  expect(JSON.parse(stdout)).toMatchObject({
    poolNamespace: 'pipeline-system',
    poolLabels: ['nodepool.banzaicloud.io/name', 'cloud.google.com/gke-nodepool'],
    forbiddenLabelDomains: ['kubernetes.io', 'google.com'],
  });
});

test('B-24 health is told, and readiness is tied to the pools having been listed', async () => {
  const leader = await stage.rig.leader();
  expect((await leader.get('/healthz')).body).toBe('ok\n');
  expect((await leader.get('/readyz')).status).toBe(200);
  expect((await leader.get('/readyz?verbose')).body).toContain('[+]caches ok');
});

test('B-25 SIGTERM ends it in good order, at once', async () => {
  const startMs = performance.now();
  expect(await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGTERM')).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(5000);
});
