import { describe, expect, test } from 'vitest';
import type { KubeRequest } from '../kube/client.ts';
import { REFUSED_FIRST_MS } from './skipped-keys.ts';
import { planFor, set, started, status, UNREACHABLE, withdrawal } from './write-queue.test-fixtures.ts';

/** When a Node is looked at again, and what is forgotten of it by then. */

function gapsOf(sent: readonly { atMs: number }[]): number[] {
  return sent.slice(1).map(({ atMs }, index) => atMs - (sent[index]?.atMs ?? 0));
}

const refusesToWithdraw = ({ body }: KubeRequest) =>
  JSON.stringify(body).includes('"ready"') ? { error: status(403) } : {};

describe('the pause between tries of one node', () => {
  test.each([
    { what: 'is 8 s at most where the node changes faster than it is written', code: 409, fromMs: 7000, toMs: 8100 },
    { what: 'is up to 30 s where the write fails', code: 400, fromMs: 20_000, toMs: 30_100 },
  ])('$what', async ({ code, fromMs, toMs }) => {
    const { clock, sent, plans, writeQueue } = started(() => ({ error: status(code) }));
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(300_000);
    const longest = Math.max(...gapsOf(sent));
    expect(longest).toBeGreaterThan(fromMs);
    expect(longest).toBeLessThan(toMs);
  });

  test('is short again for a node of the same name after the first was forgotten', async () => {
    const { clock, sent, plans, writeQueue } = started(() => ({ error: status(400) }));
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(120_000);
    expect(gapsOf(sent).at(-1)).toBeGreaterThan(5000);
    writeQueue.forget('n');
    const before = sent.length;
    writeQueue.add('n');
    await clock.advance(1000);
    expect(sent.length - before).toBeGreaterThanOrEqual(4);
  });
});

describe('the pause between tries of one node is short again', () => {
  async function failing() {
    const run = started(({ contentType }) => (contentType?.includes('merge') ? {} : { error: status(400) }));
    run.plans.set('n', planFor('n', { set }));
    run.writeQueue.add('n');
    await run.clock.advance(120_000);
    expect(gapsOf(run.sent).at(-1)).toBeGreaterThan(5000);
    return { ...run, before: run.sent.length };
  }

  test('once something was written to it', async () => {
    const { clock, sent, plans, writeQueue, before } = await failing();
    plans.set('n', planFor('n', { set, withdrawal }));
    writeQueue.add('n');
    await clock.advance(1000);
    expect(sent.slice(before, before + 2).map(({ kind }) => kind)).toEqual(['withdraw', 'set']);
    expect(sent.length - before).toBeGreaterThanOrEqual(4);
  });

  test('once there was nothing left to write to it', async () => {
    const { clock, sent, plans, writeQueue, before } = await failing();
    plans.delete('n');
    writeQueue.add('n');
    await clock.advance(100);
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(1000);
    expect(sent.length - before).toBeGreaterThanOrEqual(3);
  });

  test('in another term', async () => {
    const { clock, sent, state, writeQueue, before } = await failing();
    state.remainingMs = 0;
    writeQueue.add('n');
    await clock.advance(100);
    state.remainingMs = 60_000;
    writeQueue.add('n');
    await clock.advance(1000);
    expect(sent.length - before).toBeGreaterThanOrEqual(3);
  });
});

describe('a node that is gone', () => {
  test('is tried again after five seconds while the plan still knows it', async () => {
    const { clock, sent, plans, writeQueue } = started(() => ({ error: status(404) }));
    plans.set('n', planFor('n', { withdrawal }));
    writeQueue.add('n');
    await clock.advance(4900);
    expect(sent).toHaveLength(1);
    await clock.advance(200);
    expect(sent).toHaveLength(2);
  });

  test('is tried again after five seconds also where it had failed for other reasons before', async () => {
    const { clock, sent, plans, writeQueue } = started((_request, count) => ({
      error: status(count === 1 ? 500 : 404),
    }));
    plans.set('n', planFor('n', { withdrawal }));
    writeQueue.add('n');
    await clock.advance(4900);
    expect(sent).toHaveLength(2);
    await clock.advance(1000);
    expect(sent).toHaveLength(3);
  });

  test('leaves nothing behind of what was refused, or changed back', async () => {
    const { clock, plans, skipped, writeQueue } = started(refusesToWithdraw);
    skipped.wrote({ name: 'n', uid: 'u' }, [{ kind: 'label', key: 'k', wanted: 'v', held: false, keepsAway: false }]);
    plans.set('n', planFor('n', { withdrawal }));
    writeQueue.add('n');
    await clock.advance(100);
    expect(skipped.counts).toEqual({ foreign: 0, invalid: 0, denied: 1, contested: 1 });
    writeQueue.forget('n');
    expect([skipped.keysFor('n'), skipped.remembered]).toEqual([[], 0]);
  });

  test('leaves nothing behind of what was skipped', async () => {
    const { clock, plans, skipped, writeQueue } = started(() => ({ error: status(404) }));
    skipped.refused({ name: 'n', uid: 'u' }, [
      { kind: 'label', key: 'k', cause: 'invalid', wanted: 'v', message: 'no' },
    ]);
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(100);
    expect([skipped.keysFor('n'), skipped.remembered]).toEqual([[], 0]);
  });
});

test('a node with several keys to wait for is looked at again when the first of them has had its time', async () => {
  const { clock, sent, plans, skipped, writeQueue } = started(refusesToWithdraw);
  skipped.refused({ name: 'n', uid: 'u' }, [{ kind: 'label', key: 'k', cause: 'denied', wanted: 'v', message: 'no' }]);
  plans.set('n', planFor('n', { withdrawal }));
  writeQueue.add('n');
  await clock.advance(1000);
  expect(skipped.keysFor('n')).toHaveLength(2);
  plans.set('n', planFor('n', { set }));
  const before = sent.length;
  await clock.advance(REFUSED_FIRST_MS - 1000 + 10);
  expect(sent.slice(before).map(({ kind }) => kind)).toEqual(['set']);
});

test('a node that failed and has nothing to write any more is not tried out of turn for ever', async () => {
  const { clock, sent, plans, writeQueue } = started(() => ({ error: status(500) }));
  plans.set('n', planFor('n', { set }));
  writeQueue.add('n');
  await clock.advance(500);
  plans.delete('n');
  const before = sent.length;
  await clock.advance(60_000);
  expect(sent).toHaveLength(before);
  expect(clock.pendingTimers).toBe(0);
});

test('a node that failed before this replica may write no more is not tried out of turn for ever', async () => {
  const { clock, plans, state, writeQueue } = started(() => ({ error: status(500) }));
  plans.set('n', planFor('n', { set }));
  writeQueue.add('n');
  await clock.advance(500);
  state.remainingMs = 0;
  await clock.advance(60_000);
  expect(clock.pendingTimers).toBe(0);
});

test('a write that fails after the stop is not tried again', async () => {
  const { clock, sent, plans, writeQueue } = started(() => ({ afterMs: 1000, error: status(409) }));
  plans.set('n', planFor('n', { set }));
  writeQueue.add('n');
  await clock.advance(500);
  const stopped = writeQueue.stop();
  await clock.advance(500);
  await stopped;
  expect(clock.pendingTimers).toBe(0);
  writeQueue.add('n');
  expect(writeQueue.waiting).toBe(0);
  await clock.advance(60_000);
  expect(sent).toHaveLength(1);
});

test('as many nodes are worked on as may be written at once, and the others wait where an urgent one overtakes', async () => {
  const { clock, plans, writeQueue } = started(() => ({ afterMs: 1000 }));
  const add = (count: number, prefix: string) => {
    for (let index = 0; index < count; index += 1) {
      plans.set(`${prefix}${index}`, planFor(`${prefix}${index}`, { set }));
      writeQueue.add(`${prefix}${index}`);
    }
  };
  add(40, 'a');
  await clock.advance(10);
  expect(writeQueue.waiting).toBe(24);
  await clock.advance(60_000);
  add(40, 'b');
  await clock.advance(10);
  expect(writeQueue.waiting).toBe(24);
});

test('64 urgent nodes are worked on at once, beside those that are not', async () => {
  const { clock, plans, writeQueue } = started(() => ({ afterMs: 1000 }));
  for (const priority of ['urgent', 'normal'] as const) {
    for (let index = 0; index < 100; index += 1) {
      plans.set(`${priority}${index}`, planFor(`${priority}${index}`, { set }));
      writeQueue.add(`${priority}${index}`, { priority });
    }
  }
  await clock.advance(10);
  expect(writeQueue.waiting).toBe(200 - 64 - 16);
});

describe('the log', () => {
  async function loggedFor(error: Error, forMs: number, failures = Number.POSITIVE_INFINITY) {
    const run = started((_request, count) => (count > failures ? {} : { error }));
    run.plans.set('n', planFor('n', { set }));
    run.writeQueue.add('n');
    await run.clock.advance(forMs);
    return run;
  }

  test('logs a failing write once, however often it fails', async () => {
    const { sent, logged } = await loggedFor(status(400), 60_000);
    expect([sent.length > 3, logged]).toEqual([true, ['Failed to write a node']]);
  });

  test('logs a failing write as soon as it fails', async () => {
    const { sent, logged } = await loggedFor(status(400), 10);
    expect([sent.length, logged]).toEqual([1, ['Failed to write a node']]);
  });

  test('does not log a node that changes faster than it is written', async () => {
    const { sent, logged } = await loggedFor(status(409), 60_000);
    expect([sent.length > 3, logged]).toEqual([true, []]);
  });

  test('tells that nothing answers once several writes were lost, and that something does again', async () => {
    const { clock, sent, logged } = await loggedFor(UNREACHABLE, 15, 6);
    expect([sent.length, logged]).toEqual([2, []]);
    await clock.advance(60_000);
    expect(logged).toEqual([
      'Lost the API server while writing; writes wait and are repeated',
      'Reached the API server again; writes go on',
    ]);
  });
});

describe('after a write that was not answered', () => {
  const versionIn = ({ body }: KubeRequest) =>
    (body as { metadata: { resourceVersion?: string } }).metadata.resourceVersion;
  const lost = (_: KubeRequest, count: number) => (count === 1 ? { error: status(504) } : {});

  test('the next one is good for the node as it was seen alone, until one is taken', async () => {
    const { clock, sent, plans, writeQueue } = started(lost);
    const list = { labels: [], annotations: ['list'] };
    plans.set('n', planFor('n', { set, withdrawal: list }));
    writeQueue.add('n');
    await clock.advance(10_000);
    expect(sent.map(({ kind, request }) => [kind, versionIn(request)])).toEqual([
      ['withdraw', undefined],
      ['withdraw', '1'],
      ['set', undefined],
    ]);
  });

  test('what is urgent waits for nothing, and nor does a node that was made anew', async () => {
    const { clock, sent, plans, writeQueue } = started(lost);
    plans.set('n', planFor('n', { withdrawal, ahead: ['ready'] }));
    writeQueue.add('n', { priority: 'urgent' });
    await clock.advance(10_000);
    expect(sent.map(({ request }) => versionIn(request))).toEqual([undefined, undefined]);
    const again = started(lost);
    again.plans.set('n', planFor('n', { set }));
    again.writeQueue.add('n');
    await again.clock.advance(5);
    again.writeQueue.forget('n');
    again.writeQueue.add('n');
    await again.clock.advance(10_000);
    expect(again.sent.map(({ request }) => versionIn(request))).toEqual([undefined, undefined]);
  });
});
