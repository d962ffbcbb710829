import { describe, expect, test } from 'vitest';
import { planFor, set, started, status, withdrawal } from './write-queue.test-fixtures.ts';

describe('the fence', () => {
  test('at 0 lets nothing through, and what was added is dropped', async () => {
    const { clock, sent, plans, state, writeQueue } = started();
    state.remainingMs = 0;
    plans.set('n', planFor('n', { set, withdrawal }));
    writeQueue.add('n', { priority: 'urgent' });
    await clock.advance(60_000);
    state.remainingMs = 1000;
    await clock.advance(60_000);
    expect(sent).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('that closes between two requests of a node lets the second not begin', async () => {
    const { clock, sent, plans, state, writeQueue } = started(() => ({ afterMs: 10 }));
    plans.set('n', planFor('n', { set, withdrawal }));
    writeQueue.add('n');
    await clock.advance(5);
    state.remainingMs = 0;
    await clock.advance(60_000);
    expect(sent.map(({ kind }) => kind)).toEqual(['withdraw']);
  });

  test('bounds how long a write may take', async () => {
    const { clock, sent, plans, state, writeQueue } = started();
    plans.set('a', planFor('a', { set }));
    writeQueue.add('a');
    await clock.advance(100);
    state.remainingMs = 300;
    plans.set('b', planFor('b', { set }));
    writeQueue.add('b');
    await clock.advance(100);
    expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 300]);
  });
});

describe('stopping', () => {
  test('waits for what is under way, drops the rest, and leaves no timer', async () => {
    const { clock, sent, plans, written, writeQueue, requests } = started((_request, count) =>
      count > 4 ? { afterMs: 1000 } : { error: status(500) },
    );
    for (let index = 0; index < 30; index += 1) {
      plans.set(`n${index}`, planFor(`n${index}`, { set }));
      writeQueue.add(`n${index}`);
    }
    await clock.advance(90);
    const order: string[] = [];
    const settled = requests.settled().then(() => order.push('settled'));
    const stopped = writeQueue.stop().then(() => order.push('stopped'));
    await clock.advance(400);
    expect(order).toEqual([]);
    const sentAtStop = sent.length;
    await clock.advance(10_000);
    await Promise.all([settled, stopped]);
    expect(sent).toHaveLength(sentAtStop);
    expect(written.length).toBe(16);
    expect(clock.pendingTimers).toBe(0);
    writeQueue.add('n0');
    await clock.advance(1000);
    expect(sent).toHaveLength(sentAtStop);
  });

  test('does not wait for a pause, nor for a backoff', async () => {
    const { clock, sent, plans, writeQueue } = started(({ path }) => ({
      error: path.endsWith('failing') ? status(500) : status(429, 60_000),
    }));
    plans.set('failing', planFor('failing', { set }));
    writeQueue.add('failing');
    await clock.advance(1);
    plans.set('throttled', planFor('throttled', { set }));
    writeQueue.add('throttled');
    await clock.advance(100);
    const sentAtStop = sent.length;
    await writeQueue.stop();
    expect(clock.pendingTimers).toBe(0);
    expect(sent).toHaveLength(sentAtStop);
  });

  test('forgets what would be tried again later', async () => {
    const { clock, plans, writeQueue } = started(() => ({ error: status(500) }));
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await clock.advance(1000);
    expect(clock.pendingTimers).toBeGreaterThan(0);
    await writeQueue.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  test('keeps what was added a moment before from beginning', async () => {
    const { clock, sent, plans, writeQueue } = started();
    plans.set('n', planFor('n', { set }));
    writeQueue.add('n');
    await writeQueue.stop();
    await clock.advance(1000);
    expect(sent).toEqual([]);
  });
});

test('the oldest work under way tells for how long it has been', async () => {
  const { clock, plans, writeQueue } = started(() => ({ afterMs: 500 }));
  expect(writeQueue.busyMs()).toBe(0);
  plans.set('n', planFor('n', { set }));
  writeQueue.add('n');
  await clock.advance(200);
  plans.set('m', planFor('m', { set }));
  writeQueue.add('m');
  await clock.advance(100);
  expect(writeQueue.busyMs()).toBe(300);
  await clock.advance(300);
  expect(writeQueue.busyMs()).toBe(400);
  await clock.advance(1000);
  expect(writeQueue.busyMs()).toBe(0);
});
