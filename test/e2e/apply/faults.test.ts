import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { startThrottlingProxy, type ThrottlingProxy } from './throttling-proxy.ts';
import {
  type Cluster,
  coordinatorClient,
  label,
  newNode,
  readNode,
  startCluster,
  startWriterRig,
  type WriterRig,
  type WriterRigOptions,
} from './writer-rig.ts';

let cluster: Cluster;
let proxy: ThrottlingProxy;
let rigs: WriterRig[] = [];
const names = Array.from({ length: 300 }, (_, index) => `node-${index}`);

beforeAll(async () => {
  cluster = await startCluster();
  proxy = await startThrottlingProxy(cluster.controlPlane);
  for (const name of names) await newNode(cluster, name, { ready: false });
});
// Two that want different things would take each other's labels away: they are one field manager.
afterEach(async () => {
  await Promise.all(rigs.map((rig) => rig.stop()));
  rigs = [];
});
afterAll(async () => {
  await proxy?.stop();
  await cluster?.controlPlane.stop();
});

/** A rig that knows all Nodes. */
async function newRig(options: Partial<WriterRigOptions> = {}): Promise<WriterRig> {
  const rig = startWriterRig(cluster, { client: coordinatorClient(cluster), ...options });
  rigs.push(rig);
  for (const name of names) await rig.sees(name, 'kubernetes.io/os', 'linux');
  return rig;
}

async function valuesOf(key: string): Promise<(string | undefined)[]> {
  const nodes = await cluster.controlPlane.api.list('/api/v1/nodes');
  return nodes.map(({ metadata }) => metadata.labels?.[key]);
}

function countOf(values: readonly (string | undefined)[], value: string): number {
  return values.filter((each) => each === value).length;
}

async function metric(rig: WriterRig, name: string): Promise<string> {
  return rig.registry.getSingleMetricAsString(name);
}

describe('an API server that asks for patience', () => {
  test('gets it from all writes, and everything holds afterwards', async () => {
    const rig = await newRig({ client: coordinatorClient(cluster, proxy.url) });
    const before = proxy.arrivalsMs.length;
    proxy.throttleNext(1, 1);
    for (const name of names.slice(0, 60)) rig.want(name, [label('patience', '1')]);
    await waitFor('all nodes', () => names.slice(0, 60).every((name) => rig.holds(name)));
    const arrivals = proxy.arrivalsMs.slice(before);
    const [refusedMs = 0] = arrivals;
    // Only requests that were already under way when the first was refused came before the pause.
    expect(arrivals.filter((ms) => ms - refusedMs < 990).length).toBeLessThanOrEqual(16);
    const gaps = arrivals.slice(1).map((ms, index) => ms - (arrivals[index] ?? 0));
    expect(gaps.filter((gapMs) => gapMs > 900).length).toBeLessThanOrEqual(1);
    expect(await metric(rig, 'rollcall_coordinator_patches_total')).toContain('{kind="set",outcome="throttled"} 1');
    expect(arrivals).toHaveLength(61);
  });
});

describe.each([500, 504])('an API server that answers %i for a while', (code) => {
  test('is not overrun, and everything is written afterwards', async () => {
    const rig = await newRig({ client: coordinatorClient(cluster, proxy.url) });
    const before = proxy.arrivalsMs.length;
    proxy.failWrites(code);
    const beganMs = performance.now();
    for (const name of names) rig.want(name, [label(`all-${code}`, '1')]);
    await sleep(15_000);
    const arrivals = proxy.arrivalsMs.length - before;
    expect(arrivals).toBeLessThan(names.length + (60 * (performance.now() - beganMs)) / 1000);
    proxy.failWrites(undefined);
    await waitFor('all nodes', () => names.every((name) => rig.holds(name)));
  });

  test('has everything as soon as it is well again, whatever the backoffs have grown to', async () => {
    const rig = await newRig({ client: coordinatorClient(cluster, proxy.url) });
    // So few that their pace, which all share, does not keep the backoffs of each from growing.
    const few = names.slice(0, 60);
    proxy.failWrites(code);
    for (const name of few) rig.want(name, [label(`few-${code}`, '1')]);
    await sleep(20_000);
    proxy.failWrites(undefined);
    // Takes one or two seconds, and more than ten where each waits for its own backoff.
    await waitFor('all nodes', () => few.every((name) => rig.holds(name)), { timeoutMs: 8000 });
  });
});

describe('an API server that is killed while 300 writes are pending', () => {
  test('has them all when it is back, and nothing was skipped', async () => {
    const client = coordinatorClient(cluster);
    const rig = await newRig({ client });
    for (const name of names) rig.want(name, [label('outage', '1')]);
    await waitFor('some writes', () => client.sent.length >= 40, { everyMs: 1 });
    await cluster.controlPlane.killApiServer();
    expect(names.filter((name) => rig.holds(name)).length).toBeLessThan(names.length);
    await waitFor('writes to fail', async () =>
      (await metric(rig, 'rollcall_coordinator_patches_total')).includes('outcome="failed"'),
    );
    await cluster.controlPlane.restartApiServer();
    await waitFor('all nodes', async () => countOf(await valuesOf('outage'), '1') === names.length, {
      timeoutMs: 30_000,
    });
    expect(rig.skipped.counts).toEqual({ foreign: 0, invalid: 0, denied: 0, contested: 0 });
  });
});

describe('a fence', () => {
  test('at 0 lets no request through, and what was added is dropped', async () => {
    const client = coordinatorClient(cluster);
    let remainingMs = 0;
    const rig = await newRig({ client, remainingMs: () => remainingMs });
    for (const name of names) rig.want(name, [label('fence', '1')]);
    await waitFor('an empty queue', async () => / 0$/m.test(await metric(rig, 'rollcall_coordinator_queue_depth')));
    remainingMs = 1500;
    rig.writeQueue.add('node-0');
    await rig.until('node-0');
    expect(client.sent).toHaveLength(1);
    expect(client.sent[0]?.timeoutMs).toBe(1500);
    expect(countOf(await valuesOf('fence'), '1')).toBe(1);
  });

  test('that closes in the middle lets no further write begin', async () => {
    const client = coordinatorClient(cluster);
    let remainingMs = 60_000;
    const rig = await newRig({ client, remainingMs: () => remainingMs });
    for (const name of names) rig.want(name, [label('closing', '1')]);
    await waitFor('some writes', () => client.sent.length >= 50, { everyMs: 1 });
    remainingMs = 0;
    const sent = client.sent.length;
    await rig.requests.settled();
    const written = countOf(await valuesOf('closing'), '1');
    await waitFor('an empty queue', async () => / 0$/m.test(await metric(rig, 'rollcall_coordinator_queue_depth')));
    expect(client.sent).toHaveLength(sent);
    expect(written).toBe(sent);
    expect(countOf(await valuesOf('closing'), '1')).toBe(sent);
    expect(client.sent[0]?.timeoutMs).toBe(10_000);
  });
});

describe('stopping', () => {
  test('waits for the writes under way and begins no other', async () => {
    const client = coordinatorClient(cluster, proxy.url);
    const rig = await newRig({ client });
    const release = proxy.hold();
    for (const name of names) rig.want(name, [label('stop', '1')]);
    await waitFor('writes under way', () => client.sent.length === 16);
    const order: string[] = [];
    const settled = rig.requests.settled().then(() => order.push('settled'));
    const stopped = rig.writeQueue.stop().then(() => order.push('stopped'));
    order.push('released');
    release();
    await Promise.all([settled, stopped]);
    expect(order[0]).toBe('released');
    expect(client.sent).toHaveLength(16);
    expect(countOf(await valuesOf('stop'), '1')).toBe(16);
    rig.writeQueue.add('node-199');
    await rig.requests.settled();
    expect(client.sent).toHaveLength(16);
  });
});

describe('a dry run', () => {
  test('counts what it would write, and sends nothing', async () => {
    const client = coordinatorClient(cluster);
    const rig = await newRig({ client, dryRun: true });
    for (const name of names) rig.want(name, [label('dry', '1')]);
    // A Node that was being looked at when the label was asked for is looked at again, and counted twice.
    await waitFor('all to be counted', async () => {
      const counted = /\{kind="set",outcome="dry-run"\} (\d+)/.exec(
        await metric(rig, 'rollcall_coordinator_patches_total'),
      );
      return Number(counted?.[1]) >= names.length;
    });
    expect(client.sent).toEqual([]);
    expect((await readNode(cluster, 'node-0')).metadata.labels).not.toHaveProperty('dry');
  });
});

describe('withdrawals', () => {
  test('overtake what is already waiting', async () => {
    const client = coordinatorClient(cluster, proxy.url);
    const rig = await newRig({ client });
    const release = proxy.hold();
    for (const name of names) rig.want(name, [label('overtaken', '1')]);
    await waitFor('writes under way', () => client.sent.length === 16);
    const withheld = label('overtaken', '1', { stance: 'absent', ownership: 'exclusive' });
    rig.want('node-198', [{ ...withheld, key: 'kubernetes.io/os', value: 'linux' }]);
    release();
    await waitFor(
      'the withdrawal',
      async () => !(await readNode(cluster, 'node-198')).metadata.labels?.['kubernetes.io/os'],
    );
    const position = client.sent.findIndex(({ contentType }) => contentType === 'application/merge-patch+json');
    expect(position).toBe(16);
  });
});
