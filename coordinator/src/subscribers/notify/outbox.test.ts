import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeChange, NodeMetadata } from './node-change.ts';
import { applyChange, nodeOf } from './notify.test-fixtures.ts';
import { Outbox } from './outbox.ts';
import type { PostOutcome } from './poster.ts';

type Reply = { outcome: PostOutcome; afterMs?: number };
type Sent = { change: NodeChange; atMs: number };

const TAKEN: PostOutcome = { taken: 'yes' };
const REFUSED: PostOutcome = { taken: 'no', error: new Error('on purpose'), retryAfterMs: 0 };

/** An outbox whose messages end as `reply` says. What goes over the wire is tested with the poster and the notifier. */
function started(reply: (change: NodeChange, count: number) => Reply = () => ({ outcome: TAKEN })) {
  const clock = new FakeClock();
  const controller = new AbortController();
  const sent: Sent[] = [];
  const noted: [string, boolean][] = [];
  const underWay = { nodes: new Set<string>(), most: 0 };
  const outbox = new Outbox({
    async post(change) {
      expect(underWay.nodes).not.toContain(change.node);
      underWay.nodes.add(change.node);
      underWay.most = Math.max(underWay.most, underWay.nodes.size);
      sent.push({ change, atMs: clock.monotonic() });
      const { outcome, afterMs = 1 } = reply(change, sent.length);
      await new Promise<void>((resolve) => clock.after(afterMs, resolve));
      underWay.nodes.delete(change.node);
      return outcome;
    },
    onOutcome: ({ taken }, allWell) => noted.push([taken, allWell]),
    clock,
    random: () => 0.5,
    signal: controller.signal,
  });
  const times = (node: string) => sent.filter(({ change }) => change.node === node).map(({ atMs }) => atMs);
  return { clock, outbox, sent, noted, underWay, times, end: () => controller.abort() };
}

describe('a node', () => {
  test('is told about at once, and not again while nothing differs (M-3)', async () => {
    const { clock, outbox, sent } = started();
    const labels = { a: '1' };
    outbox.offer(nodeOf('n', labels));
    expect(sent).toHaveLength(1);
    await clock.advance(5000);
    outbox.offer(nodeOf('n', labels));
    outbox.offer(nodeOf('n', { ...labels }));
    await clock.advance(100_000);
    expect(sent).toHaveLength(1);
    expect([outbox.pending, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('that is offered as it was told a moment ago is no news that waits', async () => {
    const { clock, outbox } = started();
    outbox.offer(nodeOf('n', { a: '1' }));
    await clock.advance(100);
    outbox.offer(nodeOf('n', { a: '1' }));
    expect([outbox.pending, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('that comes and goes quickly is told about once a second, as it is by then', async () => {
    const { clock, outbox, sent } = started();
    for (let step = 0; step < 100; step += 1) {
      outbox.offer(nodeOf('n', { a: String(step) }));
      await clock.advance(30);
    }
    await clock.advance(2000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 1000, 2000, 3000]);
    expect(sent.at(-1)?.change.labelsUpdated).toEqual({ a: '99' });
  });

  test('that changes a moment before a second is over is told about when it is', async () => {
    const { clock, outbox, times } = started();
    outbox.offer(nodeOf('n', { a: '1' }));
    await clock.advance(999);
    outbox.offer(nodeOf('n', { a: '2' }));
    await clock.advance(1000);
    expect(times('n')).toEqual([0, 1000]);
  });

  test('that is offered again while its message is on its way has the next one after it', async () => {
    const { clock, outbox, sent } = started(() => ({ outcome: TAKEN, afterMs: 3000 }));
    outbox.offer(nodeOf('n', { a: '1' }));
    outbox.offer(nodeOf('n', { a: '2' }));
    outbox.offer(nodeOf('n', { a: '2', b: '1' }));
    await clock.advance(10_000);
    expect(sent.map(({ change, atMs }) => [change.labelsAdded, change.labelsUpdated, atMs])).toEqual([
      [{ a: '1' }, {}, 0],
      [{ b: '1' }, { a: '2' }, 3000],
    ]);
  });

  test('with another uid is new, also while a message about its predecessor is on its way (M-2)', async () => {
    const { clock, outbox, sent } = started(() => ({ outcome: TAKEN, afterMs: 100 }));
    outbox.offer(nodeOf('n', { a: '1', b: '1' }));
    outbox.offer(nodeOf('n', { a: '1' }, { uid: 'another' }));
    await clock.advance(10_000);
    expect(sent.map(({ change }) => change.labelsAdded)).toEqual([{ a: '1', b: '1' }, { a: '1' }]);
    expect(sent[1]?.change.labelsDeleted).toEqual([]);
  });

  test('with another uid does not wait because messages about its predecessor failed', async () => {
    const { clock, outbox, sent } = started(({ labelsAdded }) => ({
      outcome: labelsAdded['a'] === 'bad' ? REFUSED : TAKEN,
    }));
    outbox.offer(nodeOf('n', { a: 'bad' }));
    for (let step = 0; step < 100; step += 1) {
      outbox.offer(nodeOf('other', { a: String(step) }));
      await clock.advance(1000);
    }
    outbox.offer(nodeOf('n', { a: 'good' }, { uid: 'another' }));
    await clock.advance(1000);
    expect(sent.at(-1)?.change).toMatchObject({ node: 'n', labelsAdded: { a: 'good' } });
  });

  test('that is gone is forgotten without a message, and new when it comes back', async () => {
    const { clock, outbox, sent } = started();
    outbox.offer(nodeOf('n', { a: '1' }));
    await clock.advance(100);
    outbox.offer(nodeOf('n', { a: '2' }));
    expect(outbox.pending).toBe(1);
    outbox.gone('n');
    expect([outbox.pending, clock.pendingTimers]).toEqual([0, 0]);
    await clock.advance(5000);
    expect(sent).toHaveLength(1);
    outbox.offer(nodeOf('n', { a: '2' }));
    expect(sent[1]?.change.labelsAdded).toEqual({ a: '2' });
  });

  test('that failed is tried again after half a second and more, doubling up to a minute (M-6)', async () => {
    const { clock, outbox, times } = started(() => ({ outcome: REFUSED, afterMs: 0 }));
    outbox.offer(nodeOf('n', { a: '1' }));
    await clock.advance(300_000);
    const waits = times('n').map((atMs, index, all) => atMs - (all[index - 1] ?? 0));
    expect(waits.slice(1, 11)).toEqual([375, 750, 1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000, 45_000]);
  });

  test('has one message for all that changed during an outage, and none for what was undone', async () => {
    let down = false;
    const { clock, outbox, sent } = started(() => ({ outcome: down ? REFUSED : TAKEN }));
    for (const name of ['n', 'm', 'x']) outbox.offer(nodeOf(name, { a: '1' }));
    await clock.advance(2000);
    down = true;
    outbox.offer(nodeOf('x', { a: '2' }));
    await clock.advance(10);
    for (const a of ['2', '3', '4']) outbox.offer(nodeOf('n', { a }));
    for (const a of ['2', '1']) outbox.offer(nodeOf('m', { a }));
    down = false;
    await clock.advance(10_000);
    outbox.offer(nodeOf('x', { a: '1' }));
    await clock.advance(10_000);
    expect(sent.slice(3).map(({ change }) => [change.node, change.labelsUpdated])).toEqual([
      ['x', { a: '2' }],
      ['n', { a: '4' }],
      ['x', { a: '2' }],
      ['x', { a: '1' }],
    ]);
  });

  test('whose failed message was undone meanwhile is at peace', async () => {
    const { clock, outbox, sent, noted } = started((_change, count) => ({ outcome: count === 2 ? REFUSED : TAKEN }));
    outbox.offer(nodeOf('n', { a: '1' }));
    await clock.advance(2000);
    outbox.offer(nodeOf('n', { a: '2' }));
    await clock.advance(10);
    outbox.offer(nodeOf('n', { a: '1' }));
    await clock.advance(10_000);
    expect([sent.length, outbox.pending]).toEqual([2, 0]);
    outbox.offer(nodeOf('m', { a: '1' }));
    await clock.advance(10);
    expect(noted.at(-1)).toEqual(['yes', true]);
  });
});

describe('a receiver', () => {
  test('gets four messages at once, and a hundred in a second', async () => {
    const { clock, outbox, sent, underWay } = started(() => ({ outcome: TAKEN, afterMs: 5 }));
    for (let index = 0; index < 1000; index += 1) outbox.offer(nodeOf(`n${index}`, { a: '1' }));
    expect(outbox.pending).toBe(1000);
    await clock.advance(1000);
    expect(underWay.most).toBe(4);
    expect(sent.length).toBeGreaterThan(95);
    expect(sent.length).toBeLessThanOrEqual(104);
    await clock.advance(10_000);
    expect([sent.length, outbox.pending, clock.pendingTimers]).toEqual([1000, 0, 0]);
  });

  test.each([
    { afterMs: 39, nextMs: 40 },
    { afterMs: 41, nextMs: 41 },
  ])('that answers after $afterMs ms gets the next message after $nextMs ms', async ({ afterMs, nextMs }) => {
    const { clock, outbox, sent } = started(() => ({ outcome: TAKEN, afterMs }));
    for (let index = 0; index < 5; index += 1) outbox.offer(nodeOf(`n${index}`, { a: '1' }));
    await clock.advance(1000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 0, 0, 0, nextMs]);
  });

  test('that is down gets one message at a time, with backoff, however many nodes there are, and all when it is up', async () => {
    let down = true;
    const { clock, outbox, sent, noted } = started(() => ({ outcome: down ? REFUSED : TAKEN }));
    for (let index = 0; index < 1000; index += 1) outbox.offer(nodeOf(`n${index}`, { a: '1' }));
    await clock.advance(600_000);
    expect(sent.length).toBeLessThan(30);
    const before = sent.length;
    down = false;
    await clock.advance(60_000);
    expect(sent).toHaveLength(before + 1000);
    expect(noted.at(-1)).toEqual(['yes', true]);
    expect(outbox.pending).toBe(0);
  });

  test('that failed once gets one message, and more only once it took that', async () => {
    const { clock, outbox, sent } = started((_change, count) => ({
      outcome: count === 1 ? REFUSED : TAKEN,
      afterMs: count === 1 ? 0 : 100,
    }));
    outbox.offer(nodeOf('n', { a: '1' }));
    await clock.advance(1);
    for (const name of ['a', 'b', 'c']) outbox.offer(nodeOf(name, { a: '1' }));
    await clock.advance(374 + 99);
    expect(sent).toHaveLength(2);
    await clock.advance(1);
    expect(sent.length).toBeGreaterThan(3);
  });

  test('that fails four messages at once has failed once', async () => {
    const { clock, outbox, sent } = started((_change, count) => ({ outcome: count <= 4 ? REFUSED : TAKEN }));
    for (const name of ['a', 'b', 'c', 'd', 'e']) outbox.offer(nodeOf(name, { a: '1' }));
    await clock.advance(10_000);
    expect(sent[4]).toMatchObject({ change: { node: 'e' }, atMs: 376 });
  });

  test('is well again when the node that it did not take went before it said so', async () => {
    const { clock, outbox, noted } = started(({ node }) => ({ outcome: node === 'n' ? REFUSED : TAKEN, afterMs: 100 }));
    outbox.offer(nodeOf('n', { a: '1' }));
    outbox.gone('n');
    await clock.advance(5000);
    outbox.offer(nodeOf('m', { a: '1' }));
    await clock.advance(5000);
    expect(noted).toEqual([
      ['no', true],
      ['yes', true],
    ]);
  });

  test('that asks to be left alone is left alone for so long (M-6)', async () => {
    const busy: PostOutcome = { ...REFUSED, retryAfterMs: 30_000 };
    const { clock, outbox, sent } = started((_change, count) => ({ outcome: count === 2 ? busy : TAKEN }));
    for (const name of ['a', 'b', 'c', 'd', 'e']) outbox.offer(nodeOf(name, { a: '1' }));
    await clock.advance(30_000);
    expect(sent).toHaveLength(4);
    await clock.advance(2000);
    expect(sent).toHaveLength(6);
  });

  test('that asks to be left alone is left alone for so long, also where another message had failed just before', async () => {
    const busy: PostOutcome = { ...REFUSED, retryAfterMs: 30_000 };
    const { clock, outbox, sent } = started((_change, count) => ({
      outcome: count === 1 ? REFUSED : count === 2 ? busy : TAKEN,
      afterMs: count,
    }));
    for (const name of ['a', 'b', 'c', 'd', 'e']) outbox.offer(nodeOf(name, { a: '1' }));
    await clock.advance(30_000);
    expect(sent).toHaveLength(4);
    await clock.advance(2000);
    expect(sent).toHaveLength(7);
  });

  test('that never takes one node gets all the others, and it as rarely as it may', async () => {
    const { clock, outbox, times, noted } = started(({ node }) => ({ outcome: node === 'bad' ? REFUSED : TAKEN }));
    outbox.offer(nodeOf('bad', { a: '1' }));
    for (let step = 0; step < 300; step += 1) {
      for (const name of ['a', 'b', 'c']) outbox.offer(nodeOf(name, { a: String(step) }));
      await clock.advance(2000);
    }
    expect(times('a').length).toBeGreaterThan(290);
    expect(times('bad').length).toBeLessThan(22);
    expect(noted.every(([, allWell]) => !allWell)).toBe(true);
    outbox.gone('bad');
    outbox.offer(nodeOf('a', {}));
    await clock.advance(2000);
    expect(noted.at(-1)).toEqual(['yes', true]);
  });
});

test('an outbox that has ended sends nothing, and leaves nothing behind', async () => {
  const { clock, outbox, sent, end, noted } = started((_change, count) => ({
    outcome: count === 1 ? REFUSED : TAKEN,
    afterMs: 10,
  }));
  for (let index = 0; index < 10; index += 1) outbox.offer(nodeOf(`n${index}`, { a: '1' }));
  await clock.advance(15);
  const before = [sent.length, noted.length];
  end();
  outbox.offer(nodeOf('late', { a: '1' }));
  await clock.advance(100_000);
  expect([sent.length, noted.length]).toEqual(before);
  expect([outbox.pending, clock.pendingTimers]).toEqual([0, 0]);
});

describe('whatever happens', () => {
  const node = fc.constantFrom('n1', 'n2', 'n3');
  const values = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'), { noNullPrototype: true });
  const step = fc.record({
    node,
    labels: values,
    annotations: values,
    waitMs: fc.constantFrom(0, 0, 1, 50, 1000, 20_000),
  });
  const fate = fc.record({
    kind: fc.constantFrom('taken', 'refused', 'heard, and said to have failed to', 'not heard'),
    afterMs: fc.constantFrom(0, 1, 500, 5000),
    retryAfterMs: fc.constantFrom(0, 0, 0, 7000),
  });

  test('a receiver that applies what it hears ends with what is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 30 }),
        fc.array(fate, { maxLength: 20 }),
        async (steps, fates) => {
          const receiver = new Map<string, NodeMetadata>();
          const { clock, outbox } = started((change, count) => {
            const { kind, afterMs, retryAfterMs } = fates[count - 1] ?? { kind: 'taken', afterMs: 1, retryAfterMs: 0 };
            const before = receiver.get(change.node) ?? { labels: {}, annotations: {} };
            if (kind === 'taken' || kind.startsWith('heard')) receiver.set(change.node, applyChange(before, change));
            if (kind === 'taken') return { outcome: TAKEN, afterMs };
            const taken = kind === 'refused' ? 'no' : 'maybe';
            return { outcome: { taken, error: new Error(kind), retryAfterMs }, afterMs };
          });
          const final = new Map<string, NodeMetadata>();
          for (const { node: name, labels, annotations, waitMs } of steps) {
            final.set(name, { labels, annotations });
            outbox.offer(nodeOf(name, labels, { annotations }));
            await clock.advance(waitMs);
          }
          await clock.advance(30 * 60_000);
          expect(outbox.pending).toBe(0);
          for (const [name, now] of final) {
            expect(receiver.get(name) ?? { labels: {}, annotations: {} }).toEqual(now);
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
