import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodePlan } from '../decide/intent/plan.ts';
import { type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { REFUSED_FIRST_MS } from './skipped-keys.ts';
import { planFor, type Reply, set, started, status, UNREACHABLE, withdrawal } from './write-queue.test-fixtures.ts';

describe('a node with a plan', () => {
  test('gets the withdrawal first and alone, then the set, and then nothing more', async () => {
    const { clock, sent, plans, written, writeQueue } = started();
    plans.set('n', planFor('n', { set, withdrawal }));
    writeQueue.add('n');
    await clock.advance(60_000);
    expect(sent.map(({ kind }) => kind)).toEqual(['withdraw', 'set']);
    expect(written).toEqual(['n', 'n']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('gets one request of each kind, even if the plan does not know of them yet', async () => {
    const { clock, sent, plans, state, writeQueue } = started();
    state.lagging = true;
    plans.set('n', planFor('n', { set, withdrawal }));
    writeQueue.add('n');
    await clock.advance(60_000);
    expect(sent.map(({ kind }) => kind)).toEqual(['withdraw', 'set']);
  });

  test('without a plan gets no request', async () => {
    const { clock, sent, writeQueue } = started();
    writeQueue.add('n');
    await clock.advance(60_000);
    expect(sent).toEqual([]);
  });

  test('that is added while it is written is looked at again, by one worker at a time', async () => {
    const { clock, sent, plans, state, writeQueue } = started(() => ({ afterMs: 100 }));
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(50);
    writeQueue.add('n', { priority: 'urgent' });
    writeQueue.add('n');
    await clock.advance(100);
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(1000);
    expect(sent).toHaveLength(2);
    expect(state.mostOfOneNode).toBe(1);
  });

  test('is planned with the slot in hand, not when it was added', async () => {
    const { clock, sent, plans, writeQueue } = started((_request, count) =>
      count === 1 ? { error: status(429, 5000) } : {},
    );
    plans.set('first', planFor('first', { set }));
    writeQueue.add('first');
    await clock.advance(1);
    plans.set('late', planFor('late', { withdrawal }));
    writeQueue.add('late', { priority: 'urgent' });
    await clock.advance(1000);
    plans.delete('late');
    await clock.advance(60_000);
    expect(sent.map(({ node }) => node)).toEqual(['first', 'first']);
  });
});

/** Labels and annotations in a request; `probe` where it is a rehearsal. */
function keysIn({ body, query }: KubeRequest): string {
  const { labels = {}, annotations = {} } = (body as { metadata: { labels?: object; annotations?: object } }).metadata;
  const keys = [...Object.keys(labels), ...Object.keys(annotations)];
  return `${query?.['dryRun'] ? 'probe ' : ''}${keys.length > 3 ? keys.length : keys}`;
}

describe('a withdrawal', () => {
  const many = Array.from({ length: 450 }, (_, index) => `k${index}`);

  test('begins with what goes ahead, and goes on in parts, annotations last, before the set', async () => {
    const { clock, sent, plans, state, writeQueue } = started();
    state.lagging = true;
    const whole = { labels: [...many, 'ready', 'late'], annotations: ['list'] };
    plans.set('n', planFor('n', { set, withdrawal: whole, ahead: ['ready'] }));
    writeQueue.add('n');
    await clock.advance(60_000);
    expect(sent.map(({ request }) => keysIn(request))).toEqual(['ready', '250', '202', 'a']);
    const withList = sent.filter(({ request }) => JSON.stringify(request.body).includes('"annotations":{"list":null}'));
    expect(withList.map(({ request }) => keysIn(request))).toEqual(['202']);
  });

  test('that is refused leaves the rest to be written, what is about a service at once', async () => {
    const refused = { error: status(403) };
    const { clock, sent, plans, writeQueue } = started((request, count) => {
      if (count === 9)
        plans.set('n', planFor('n', { withdrawal: { labels: [...many, 'ready'], annotations: [] }, ahead: ['ready'] }));
      return many.some((key) => key.endsWith('7') && JSON.stringify(request.body).includes(`"${key}"`)) ? refused : {};
    });
    plans.set('n', planFor('n', { withdrawal: { labels: many, annotations: [] } }));
    writeQueue.add('n');
    await clock.advance(1000);
    const written = sent.map(({ request }) => keysIn(request));
    expect(written.slice(0, 10)).toEqual(['250', 'probe ', ...written.slice(2, 9), 'ready']);
    expect(written.slice(2, 9).every((each) => each.startsWith('probe'))).toBe(true);
  });
});

test('a withdrawal that is refused for its size goes as far as one search shows', async () => {
  const sizeOf = ({ body }: KubeRequest) => JSON.stringify(body).split(':null').length - 1;
  const { clock, sent, plans, state, writeQueue } = started((request) =>
    sizeOf(request) > 60 ? { error: status(403) } : {},
  );
  state.lagging = true;
  const labels = Array.from({ length: 200 }, (_, index) => `k${index}`);
  plans.set('n', planFor('n', { withdrawal: { labels, annotations: [] } }));
  writeQueue.add('n');
  await clock.advance(1000);
  const written = sent.filter(({ request }) => !request.query?.['dryRun']).map(({ request }) => sizeOf(request));
  expect(written.slice(0, 2)).toEqual([200, 60]);
});

test('a node is looked at again when a key that was denied has had its time', async () => {
  const { clock, sent, plans, skipped, writeQueue } = started();
  skipped.refused({ name: 'n', uid: 'u' }, [{ kind: 'label', key: 'k', cause: 'denied', wanted: 'v', message: 'no' }]);
  writeQueue.add('n');
  await clock.advance(1000);
  plans.set('n', planFor('n', { set }));
  await clock.advance(REFUSED_FIRST_MS - 1001);
  expect(sent).toEqual([]);
  await clock.advance(10);
  expect(sent).toHaveLength(1);
});

test('one label of a pool that is refused leaves the others listed, in each probe as well', async () => {
  const list = 'nodepool.banzaicloud.io/managed-labels';
  const { clock, sent, plans, skipped, writeQueue } = started(({ body }) => {
    const { labels = {}, annotations = {} } = (body as { metadata: Partial<typeof wanted> }).metadata;
    const listed = annotations[list] ?? '[]';
    const isRefused = 'bad' in labels || JSON.stringify(Object.keys(labels).sort()) !== listed;
    return isRefused ? { error: status(403) } : {};
  });
  const labels: Record<string, string> = { a: '1', bad: '1', c: '1', d: '1' };
  const wanted = { labels, annotations: { [list]: '["a","bad","c","d"]' } as Record<string, string>, force: false };
  plans.set('n', planFor('n', { set: wanted }));
  writeQueue.add('n');
  await clock.advance(100);
  expect(skipped.keysFor('n').map(({ key }) => key)).toEqual(['bad']);
  const probes = sent.filter(({ request }) => request.query?.['dryRun']);
  expect(probes.length).toBeGreaterThan(3);
});

test('the map that labels are in is taken by force without the keys that have another value there', async () => {
  const conflict = new KubeStatusError(
    409,
    {
      reason: 'Conflict',
      details: {
        causes: [{ reason: 'FieldManagerConflict', field: '.metadata.labels', message: 'conflict with "x"' }],
      },
    },
    undefined,
    {},
  );
  const { clock, sent, plans, seen, writeQueue } = started((_request, count) =>
    count === 1 ? { error: conflict } : {},
  );
  const nothing: ReadonlySet<string> = new Set();
  const labels = { same: '1', foreign: 'theirs' };
  seen.set('n', { name: 'n', uid: 'u', labels, annotations: {}, owned: { labels: nothing, annotations: nothing } });
  plans.set(
    'n',
    planFor('n', { set: { labels: { same: '1', foreign: 'ours', new: '1' }, annotations: {}, force: false } }),
  );
  writeQueue.add('n');
  await clock.advance(10_000);
  const writes = sent.map(({ request }) => ({ force: request.query?.['force'], body: request.body }));
  expect(writes[0]).toMatchObject({ body: { metadata: { labels: { same: '1', foreign: 'ours', new: '1' } } } });
  expect(writes[1]).toMatchObject({ force: 'true', body: { metadata: { resourceVersion: '1' } } });
  expect(writes[1]).toHaveProperty('body.metadata.labels', { same: '1', new: '1' });
});

describe('urgent nodes', () => {
  test('have their withdrawals before other sets, also their own', async () => {
    const { clock, sent, plans, writeQueue } = started(() => ({ afterMs: 10 }));
    for (let index = 0; index < 40; index += 1) {
      plans.set(`n${index}`, planFor(`n${index}`, { set }));
      writeQueue.add(`n${index}`);
    }
    await clock.advance(1);
    for (let index = 0; index < 100; index += 1) {
      plans.set(`u${index}`, planFor(`u${index}`, { set, withdrawal }));
      writeQueue.add(`u${index}`, { priority: 'urgent' });
    }
    await clock.advance(10_000);
    const kinds = sent.map(({ kind }) => kind);
    expect(kinds.slice(16, 116)).toEqual(Array.from({ length: 100 }, () => 'withdraw'));
    expect(sent).toHaveLength(40 + 100 * 2);
  });
});

test('where many nodes have nothing to write, one that changes before the loop has turned is looked at once', async () => {
  const { clock, writeQueue } = started();
  const looks: string[] = [];
  const nothing = { sent: () => () => {}, rested: () => {}, written: () => {}, contested: () => {}, skipped: () => {} };
  const prepare = (name: string) => {
    looks.push(name);
    // What a plan takes.
    clock.standStill(1);
    return undefined;
  };
  writeQueue.serve({ ...nothing, prepare });
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
  for (const name of names) writeQueue.add(name);
  await new Promise((resolve) => setImmediate(resolve));
  expect(looks).toEqual(names.slice(0, 6));
  writeQueue.add('n10');
  await clock.advance(1000);
  expect(looks).toEqual(names);
});

describe('a write that does not succeed', () => {
  test('because nothing answers is repeated until it holds, without a backoff that outlasts the outage', async () => {
    let reachable = false;
    const { clock, sent, plans, writeQueue } = started(() => (reachable ? {} : { error: UNREACHABLE }));
    for (let index = 0; index < 50; index += 1) {
      plans.set(`n${index}`, planFor(`n${index}`, { set }));
      writeQueue.add(`n${index}`);
    }
    await clock.advance(60_000);
    expect(plans.size).toBe(50);
    const attempts = sent.length;
    // 16 at a time; the pauses soon take two seconds, less half of that by chance.
    expect(attempts).toBeLessThan(16 * 50);
    reachable = true;
    await clock.advance(2500);
    expect(plans.size).toBe(0);
    expect(sent.length - attempts).toBe(50);
  });

  test('because the API server fails is repeated later and later', async () => {
    const { clock, sent, plans, writeQueue } = started((_request, count) => (count < 6 ? { error: status(500) } : {}));
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(60_000);
    const gaps = sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
    expect(gaps).toHaveLength(5);
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    expect(gaps[4]).toBeGreaterThan(8 * (gaps[0] ?? 0));
  });

  test.each([500, 502, 504])('because of a server that answers %i is repeated soon after it recovers', async (code) => {
    const names = Array.from({ length: 200 }, (_, index) => `n${index}`);
    let failing = true;
    const { clock, sent, plans, writeQueue } = started(() => (failing ? { error: status(code) } : {}));
    for (const name of names) {
      plans.set(name, planFor(name, { set }));
      writeQueue.add(name);
    }
    await clock.advance(120_000);
    const perSecond = (sent.length - names.length) / 120;
    expect(perSecond).toBeLessThan(50);
    failing = false;
    await clock.advance(2000);
    expect([...plans.keys()]).toEqual([]);
    await clock.advance(60_000);
    expect(clock.pendingTimers).toBe(0);
  });

  test('because the server fails one node is no trouble to the others, and not tried more often for them', async () => {
    const { clock, sent, plans, writeQueue } = started(({ path }) =>
      path.endsWith('ill') ? { error: status(500) } : {},
    );
    plans.set('ill', planFor('ill', { set }));
    writeQueue.add('ill');
    for (let second = 0; second < 60; second += 1) {
      plans.set('well', planFor('well', { set }));
      writeQueue.add('well');
      await clock.advance(100);
      expect(plans.has('well')).toBe(false);
      await clock.advance(900);
    }
    const tries = sent.filter(({ node }) => node === 'ill').length;
    expect(tries).toBeGreaterThan(30);
    expect(tries).toBeLessThan(90);
  });

  test('because the node is gone is not repeated as long as the plan does not know it any more', async () => {
    const { clock, sent, plans, writeQueue } = started(() => ({ error: status(404) }));
    plans.set('n', planFor('n', { withdrawal }));
    writeQueue.add('n');
    await clock.advance(1000);
    plans.delete('n');
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('because a key is denied is not hammered, even if the plan goes on wanting the key', async () => {
    const denied = { error: status(403) };
    const asks = ({ body }: { body?: unknown }) => JSON.stringify(body).includes('"a"');
    const { clock, sent, plans, skipped, writeQueue } = started((request) => (asks(request) ? denied : {}));
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(60_000);
    expect(skipped.keysFor('n')).toMatchObject([{ key: 'a', cause: 'denied' }]);
    expect(sent.length).toBeLessThan(60);
  });

  test('because of an error in the plan is repeated, and takes no worker with it', async () => {
    const { clock, sent, plans, writeQueue } = started();
    const broken = { node: undefined, set } as unknown as NodePlan;
    for (let index = 0; index < 100; index += 1) plans.set(`broken-${index}`, broken);
    plans.set('n', planFor('n', { set }));
    for (const name of plans.keys()) writeQueue.add(name);
    await clock.advance(1000);
    expect(sent.map(({ node }) => node)).toEqual(['n']);
    plans.set('broken-7', planFor('broken-7', { set }));
    await clock.advance(30_000);
    expect(sent.map(({ node }) => node)).toEqual(['n', 'broken-7']);
  });
});

describe('metrics', () => {
  test('tell what was written, what came of it, and how long after the evidence', async () => {
    const { clock, plans, registry, writeQueue } = started((_request, count) => ({
      afterMs: 20,
      ...(count === 1 ? { error: status(500) } : {}),
    }));
    await clock.advance(5000);
    plans.set('n', planFor('n', { set, withdrawal }));
    writeQueue.add('n', { priority: 'normal', dirtySinceMs: clock.monotonic() });
    await clock.advance(10_000);
    const text = await registry.metrics();
    expect(text).toContain('rollcall_coordinator_patches_total{kind="withdraw",outcome="failed"} 1');
    expect(text).toContain('rollcall_coordinator_patches_total{kind="withdraw",outcome="applied"} 1');
    expect(text).toContain('rollcall_coordinator_patches_total{kind="set",outcome="applied"} 1');
    expect(text).toContain('rollcall_coordinator_patch_duration_seconds_count{kind="set"} 1');
    expect(text).toContain('rollcall_coordinator_queue_latency_seconds_count 2');
    expect(text).toContain('rollcall_coordinator_evidence_to_applied_seconds_count 1');
    // 20 ms until it failed, 37.5 ms of backoff, and twice 20 ms.
    expect(text).toMatch(/evidence_to_applied_seconds_sum 0\.0975/);
    expect(text).toContain('rollcall_coordinator_queue_depth 0');
    expect(text).toContain('rollcall_coordinator_writes_in_flight 0');
    expect(text).toContain('rollcall_coordinator_skipped_keys{cause="foreign"} 0');
  });

  test('tell for how long nodes waited, in seconds', async () => {
    const { clock, plans, registry, writeQueue } = started(() => ({ afterMs: 50 }));
    for (let index = 0; index < 17; index += 1) {
      plans.set(`n${index}`, planFor(`n${index}`, { set }));
      writeQueue.add(`n${index}`);
    }
    await clock.advance(10_000);
    expect(await registry.metrics()).toContain('rollcall_coordinator_queue_latency_seconds_sum 0.05');
  });
});

test.each([
  { what: 'that changes faster than it is written is tried at once when the watch reports it', code: 409, more: 1 },
  {
    what: 'that an API server in trouble does not write waits for its backoff, whatever the watch tells',
    code: 500,
    more: 0,
  },
  { what: 'that had changed before the API server was in trouble waits as well', first: 409, code: 500, more: 0 },
])('a node $what', async ({ code, first = code, more }) => {
  const { clock, sent, plans, writeQueue } = started((_request, count) => ({
    error: status(count === 1 ? first : code),
  }));
  plans.set('n', planFor('n', { set }));
  writeQueue.add('n');
  // The backoff is seconds by then.
  while (sent.length < 8) await clock.advance(100);
  await clock.advance(100);
  for (const known of ['n', 'other']) writeQueue.caughtUp(known);
  await clock.advance(10);
  expect(sent).toHaveLength(8 + more);
});

const replies = fc.constantFrom<Reply[]>(
  {},
  {},
  { afterMs: 50 },
  { error: status(500) },
  { error: status(429, 200) },
  { error: UNREACHABLE },
  { error: status(409) },
  { error: status(403) },
);

test('whatever the API server answers for a while, everything holds in the end, and no node has two writes at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(replies, { maxLength: 120 }),
      fc.array(fc.record({ node: fc.nat({ max: 30 }), urgent: fc.boolean(), atMs: fc.nat({ max: 300 }) }), {
        maxLength: 80,
      }),
      async (answers, adds) => {
        const { clock, plans, state, writeQueue } = started((_request, count) => answers[count - 1] ?? {});
        for (const { node, urgent, atMs } of adds.toSorted((a, b) => a.atMs - b.atMs)) {
          await clock.advance(Math.max(0, atMs - clock.monotonic()));
          const name = `n${node}`;
          plans.set(name, planFor(name, urgent ? { set, withdrawal } : { set }));
          writeQueue.add(name, { priority: urgent ? 'urgent' : 'normal' });
        }
        await clock.advance(600_000);
        expect(plans.size).toBe(0);
        expect(state.mostOfOneNode).toBeLessThanOrEqual(1);
        expect(state.mostUnderWay).toBeLessThanOrEqual(16);
        await writeQueue.stop();
        expect(clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 60 },
  );
});
