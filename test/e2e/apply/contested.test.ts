import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { ProgramClock } from '../../rig/program-clock.ts';
import { startWebhook, type Webhook } from './webhook.ts';
import {
  applyAs,
  type Cluster,
  coordinatorClient,
  label,
  newNode,
  type RecordingClient,
  readNode,
  startCluster,
  startWriterRig,
  type Wish,
  type WriterRig,
} from './writer-rig.ts';

/** Keys that do not stay are written from 1 s to 8 s apart. */
const clock = new ProgramClock(4);
const EXCLUSIVE = { ownership: 'exclusive' } as const;

let cluster: Cluster;
let client: RecordingClient;
let rig: WriterRig;
const cleanups: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  cluster = await startCluster();
  await newNode(cluster, 'probe', { ready: false });
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});
afterAll(() => cluster?.controlPlane.stop());

/** A rig for a Node of its own, which wants something there. */
async function begin(name: string, wish: Wish, labels: Record<string, string> = {}): Promise<void> {
  await newNode(cluster, name, { ready: false, labels });
  client = coordinatorClient(cluster);
  rig = startWriterRig(cluster, { client, clock });
  cleanups.push(() => rig.stop());
  await rig.sees(name, 'kubernetes.io/os', 'linux');
  rig.want(name, [wish]);
}

/** Sets the label to `value`, or deletes it, each time that it is otherwise. */
function startRival(name: string, value: string | null): () => void {
  let stopped = false;
  const path = `/api/v1/nodes/${name}?fieldManager=rival`;
  const stopWatch = watchNodes(cluster.controlPlane.api, ({ object }) => {
    const isRight = (object.metadata.labels?.['fought'] ?? null) === value;
    if (stopped || object.metadata.name !== name || isRight) return;
    void cluster.controlPlane.api.patch(path, { metadata: { labels: { fought: value } } });
  });
  const stop = () => {
    stopped = true;
    stopWatch();
  };
  cleanups.push(stop);
  return stop;
}

async function valueOn(name: string): Promise<string | undefined> {
  return (await readNode(cluster, name)).metadata.labels?.['fought'];
}

/** Writes to Nodes so far. */
function writes(): number {
  return client.sent.filter(({ method, query }) => method === 'PATCH' && !query?.['dryRun']).length;
}

/** Lets them fight for so long, on the clock of the writer. */
async function fightFor(ms: number): Promise<void> {
  const until = clock.monotonic() + ms;
  await waitFor('the fight to last', () => clock.monotonic() >= until, { timeoutMs: ms + 5000 });
}

async function contestedCount(): Promise<string> {
  return rig.registry.getSingleMetricAsString('rollcall_coordinator_contested_keys');
}

describe('a label that another client', () => {
  test('deletes again and again is written less and less often, and stays soon after that ends', async () => {
    await begin('deleted', label('fought', 'true', EXCLUSIVE));
    await rig.until('deleted');
    const stop = startRival('deleted', null);
    await waitFor('the contest', () => rig.toldContested.length > 0, { timeoutMs: 20_000 });
    await fightFor(12_000);
    // One, three that are free, and then those after 1, 2, 4 and 8 s.
    expect(writes()).toBeLessThanOrEqual(4 + 4);
    expect(await contestedCount()).toMatch(/ 1$/m);
    expect(rig.toldContested).toMatchObject([{ kind: 'label', key: 'fought', wanted: 'true' }]);
    stop();
    const before = clock.monotonic();
    await waitFor('the label', async () => (await valueOn('deleted')) === 'true', { timeoutMs: 30_000 });
    // No longer than it was fought for.
    expect(clock.monotonic() - before).toBeLessThan(20_000);
  });

  test('rewrites again and again is taken back less and less often, and the rival is named', async () => {
    await begin('rewritten', label('fought', 'true', EXCLUSIVE));
    await rig.until('rewritten');
    startRival('rewritten', 'mine');
    await waitFor('the contest', () => rig.toldContested.length > 0, { timeoutMs: 20_000 });
    await fightFor(5000);
    // Each time the write finds that another client owns it, and then takes it.
    expect(writes()).toBeLessThanOrEqual(2 * (4 + 3));
    expect(rig.toldContested).toMatchObject([{ kind: 'label', key: 'fought', rival: 'rival' }]);
  });

  test('owns, and goes on changing, is not tried at each change', async () => {
    await newNode(cluster, 'counted', { ready: false, labels: { fought: '0' } });
    client = coordinatorClient(cluster);
    rig = startWriterRig(cluster, { client, clock });
    cleanups.push(() => rig.stop());
    await rig.sees('counted', 'fought', '0');
    rig.want('counted', [label('fought', 'true')]);
    for (let count = 1; count <= 60; count += 1) {
      await applyAs(cluster, 'counter', 'counted', { labels: { fought: String(count) } }, true);
      await rig.sees('counted', 'fought', String(count));
    }
    expect(writes()).toBeLessThanOrEqual(10);
    expect(rig.toldContested).toMatchObject([{ key: 'fought', rival: expect.stringContaining('counter') }]);
  });

  test('puts back again and again is withdrawn at least every 10 s', async () => {
    await begin('put-back', label('fought', 'true', { stance: 'absent', ...EXCLUSIVE }));
    startRival('put-back', 'true');
    await waitFor('the contest', () => rig.toldContested.length > 0, { timeoutMs: 20_000 });
    const gaps: number[] = [];
    let [count, lastMs] = [writes(), clock.monotonic()];
    await waitFor(
      'two tries at the longest gap',
      () => {
        if (writes() > count) {
          gaps.push(clock.monotonic() - lastMs);
          [count, lastMs] = [writes(), clock.monotonic()];
        }
        return gaps.filter((ms) => ms > 7000).length >= 2;
      },
      { timeoutMs: 60_000, everyMs: 20 },
    );
    expect(Math.max(...gaps)).toBeLessThan(10_000);
    expect(gaps.length).toBeLessThanOrEqual(7);
    expect(rig.toldContested).toMatchObject([{ key: 'fought', wanted: undefined, rival: 'rival' }]);
  });
});

describe('a label that admission', () => {
  const patches: Record<string, (labels: Record<string, string>) => object[]> = {
    rewriting: (labels) =>
      labels['fought'] ? [{ op: 'replace', path: '/metadata/labels/fought', value: 'theirs' }] : [],
    stripping: (labels) => (labels['fought'] ? [{ op: 'remove', path: '/metadata/labels/fought' }] : []),
  };

  test.each([
    ['rewriting', 'theirs'],
    ['stripping', undefined],
  ])(
    'goes on %s is noticed by the answer, written less and less often, and right soon after that ends',
    async (what, shown) => {
      const webhook: Webhook = await startWebhook(cluster, 'probe', ({ metadata }) =>
        metadata.name === what ? { patch: patches[what]?.(metadata.labels ?? {}) ?? [] } : {},
      );
      cleanups.push(() => webhook.stop());
      await begin(what, label('fought', 'true', EXCLUSIVE));
      await waitFor('the contest', () => rig.toldContested.length > 0);
      expect(rig.toldContested).toMatchObject([{ key: 'fought', rival: expect.stringContaining('webhook') }]);
      await fightFor(8000);
      expect(await valueOn(what)).toBe(shown);
      // At 0, 1, 3 and 7 s; what is left over may have to be let go of after each.
      expect(writes()).toBeLessThanOrEqual(2 * 4);
      expect(await contestedCount()).toMatch(/ 1$/m);
      webhook.relent();
      await waitFor('the label', async () => (await valueOn(what)) === 'true', { timeoutMs: 30_000 });
    },
  );
});
