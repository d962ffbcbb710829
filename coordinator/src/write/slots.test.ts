import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import type { WriteOutcome } from './classify.ts';
import { SlowNodes } from './slow-nodes.ts';
import type { Lane } from './work-queue.ts';
import { WriteGate } from './write-gate.ts';
import { UNREACHABLE } from './write-queue.test-fixtures.ts';

const ANSWERED: WriteOutcome = { kind: 'applied', node: { metadata: { name: 'n', uid: 'u', resourceVersion: '2' } } };
const LOST: WriteOutcome = { kind: 'failed', error: UNREACHABLE };
const throttled = (retryAfterMs: number): WriteOutcome => ({ kind: 'throttled', retryAfterMs, isForAll: true });

/** A gate with writes that take until they are told to end. */
function started() {
  const clock = new FakeClock();
  const gate = new WriteGate({
    metrics: {
      countPatch: () => {},
      observePatch: () => {},
      observeQueueLatency: () => {},
      observeEvidenceToApplied: () => {},
    },
    clock,
    random: () => 1 - Number.EPSILON,
    slowNodes: new SlowNodes({ clock, read: async () => true }),
    isAwaited: () => false,
  });
  const running = new Map<string, (outcome: WriteOutcome) => void>();
  const refused: string[] = [];
  const begin = (name: string, lane: Lane = 'normal') =>
    gate
      .run(lane, () =>
        // A write to a slow node has its time.
        gate.pass('set', { node: name, lane: 'slow' }, () => {
          const { promise, resolve } = Promise.withResolvers<WriteOutcome>();
          running.set(name, resolve);
          return promise;
        }),
      )
      .then((result) => {
        if (result === undefined) refused.push(name);
      });
  const names = () => [...running.keys()];
  const end = async (name: string, outcome = ANSWERED) => {
    running.get(name)?.(outcome);
    running.delete(name);
    await clock.advance(0);
  };
  return { clock, gate, begin, names, end, refused };
}

async function full() {
  const all = started();
  for (let index = 0; index < 16; index += 1) void all.begin(`${index}`);
  await all.clock.advance(0);
  return all;
}

describe('the gate', () => {
  test('runs up to its limit at once, and the next when one ends', async () => {
    const { gate, begin, names, end } = await full();
    void begin('waits');
    expect(gate.inFlight).toBe(16);
    expect(names()).not.toContain('waits');
    await end('3');
    expect(names()).toContain('waits');
    expect(gate.inFlight).toBe(16);
  });

  test('lets urgent ones overtake all that wait, in order among themselves', async () => {
    const { begin, names, end } = await full();
    void begin('normal 1');
    void begin('normal 2');
    void begin('urgent 1', 'urgent');
    void begin('urgent 2', 'urgent');
    const order: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      await end(`${index}`);
      order.push(names().at(-1) ?? '');
    }
    expect(order).toEqual(['urgent 1', 'urgent 2', 'normal 1', 'normal 2']);
  });

  test('counts what is about slow nodes, and runs it first', async () => {
    const { clock, gate, begin, names, end } = await full();
    void begin('urgent', 'urgent');
    void begin('slow', 'slow');
    await clock.advance(0);
    expect([names().includes('slow'), gate.inFlight]).toEqual([false, 16]);
    await end('0');
    expect([names().at(-1), gate.inFlight]).toEqual(['slow', 16]);
  });

  test('gives the slot back when a task throws', async () => {
    const { gate } = started();
    const failing = gate.run('normal', async () => {
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect(gate.inFlight).toBe(0);
  });

  test('lets what waits go when it is closed, and begins nothing more', async () => {
    const { clock, gate, begin, refused, end, names } = await full();
    void begin('waits', 'urgent');
    gate.close();
    await clock.advance(0);
    void begin('late');
    await clock.advance(0);
    expect(refused).toEqual(['waits', 'late']);
    for (const name of names()) await end(name);
    expect(gate.inFlight).toBe(0);
  });
});

describe('being throttled', () => {
  test('makes all wait for as long as it says, urgent ones too, and runs as many as before afterwards', async () => {
    const { clock, gate, begin, names, end } = started();
    void begin('a');
    await clock.advance(10);
    await end('a', throttled(2000));
    void begin('normal');
    void begin('urgent', 'urgent');
    await clock.advance(1999);
    expect(names()).toEqual([]);
    await clock.advance(1);
    expect(names()).toEqual(['urgent', 'normal']);
    for (let index = 0; index < 20; index += 1) void begin(`${index}`);
    await clock.advance(0);
    expect(gate.inFlight).toBe(16);
  });

  test('twice waits for the later of the two times', async () => {
    const { clock, begin, names, end } = started();
    void begin('a');
    void begin('b');
    await clock.advance(1);
    await end('a', throttled(500));
    await end('b', throttled(3000));
    void begin('c');
    await clock.advance(2999);
    expect(names()).toEqual([]);
    await clock.advance(1);
    expect(names()).toEqual(['c']);
  });

  test('for one node alone makes no other wait', async () => {
    const { clock, begin, names, end } = started();
    void begin('a');
    await clock.advance(1);
    await end('a', { kind: 'throttled', retryAfterMs: 3000, isForAll: false });
    void begin('b');
    await clock.advance(0);
    expect(names()).toEqual(['b']);
  });

  test('never makes anyone wait for more than a minute', async () => {
    const { clock, begin, names, end } = started();
    void begin('a');
    await clock.advance(1);
    await end('a', throttled(86_400_000));
    void begin('b');
    await clock.advance(60_000);
    expect(names()).toEqual(['b']);
  });
});

describe('while nothing answers', () => {
  test.each<[string, WriteOutcome]>([
    ['an answer', ANSWERED],
    ['a plea for patience', throttled(0)],
  ])('three failures in a row are no accident, and %s ends that', async (_what, outcome) => {
    const { clock, gate, begin, end } = started();
    for (let index = 0; index < 3; index += 1) {
      expect(gate.unreachable).toBe(false);
      void begin(`${index}`);
      await clock.advance(5000);
      await end(`${index}`, LOST);
    }
    expect(gate.unreachable).toBe(true);
    void begin('last');
    await clock.advance(5000);
    await end('last', outcome);
    expect(gate.unreachable).toBe(false);
  });

  test('all wait together, a little longer each time, at most two seconds', async () => {
    const { clock, gate, begin, names, end } = started();
    const waits: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      const name = `round ${round}`;
      const sinceMs = clock.monotonic();
      void begin(name);
      await clock.advance(0);
      while (!names().includes(name)) await clock.advance(1);
      waits.push(clock.monotonic() - sinceMs);
      await clock.advance(1);
      await end(name, LOST);
      if (round === 1) expect(gate.unreachable).toBe(false);
    }
    expect(waits.slice(0, 5)).toEqual([0, 10, 20, 40, 80]);
    expect(waits.at(-1)).toBe(2000);
    expect(gate.unreachable).toBe(true);
  });

  test('those that fail together count once', async () => {
    const { clock, begin, names, end } = await full();
    await clock.advance(5);
    for (const name of names()) await end(name, LOST);
    void begin('next');
    await clock.advance(10);
    expect(names()).toEqual(['next']);
  });

  test('an answer ends it', async () => {
    const { clock, gate, begin, names, end } = started();
    for (let round = 0; round < 8; round += 1) {
      void begin('a');
      await clock.advance(3000);
      await end('a', round === 7 ? ANSWERED : LOST);
    }
    expect(gate.unreachable).toBe(false);
    void begin('b');
    await clock.advance(0);
    expect(names()).toEqual(['b']);
  });
});
