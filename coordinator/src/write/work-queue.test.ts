import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RETRY_BASE_MS, RETRY_MAX_MS, WorkQueue, type WorkQueueOptions } from './work-queue.ts';

function started(options: Partial<WorkQueueOptions> = {}) {
  const clock = new FakeClock();
  return { clock, queue: new WorkQueue({ clock, random: () => 0.5, ...options }) };
}

function takeAll(queue: WorkQueue): string[] {
  const taken: string[] = [];
  for (;;) {
    const item = queue.take('urgent') ?? queue.take('normal');
    if (!item) return taken;
    taken.push(item.key);
    queue.done(item.key);
  }
}

describe('a key', () => {
  test('that is added twice waits once, at its first place', () => {
    const { queue } = started();
    for (const key of ['a', 'b', 'a']) queue.add(key);
    expect(takeAll(queue)).toEqual(['a', 'b']);
  });

  test('that is added while it is worked on is worked on again afterwards, and not before', () => {
    const { queue } = started();
    queue.add('a');
    queue.take('normal');
    queue.add('a');
    queue.add('a');
    expect(queue.take('normal')).toBeUndefined();
    queue.done('a');
    expect(takeAll(queue)).toEqual(['a']);
  });

  test('that is urgent comes before all that are not', () => {
    const { queue } = started();
    queue.add('a');
    queue.add('b', { priority: 'urgent' });
    expect(takeAll(queue)).toEqual(['b', 'a']);
  });

  test('that waits is upgraded by an urgent add, and not downgraded by another', () => {
    const { queue } = started();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    queue.add('b', { priority: 'urgent' });
    queue.add('b', { priority: 'normal' });
    expect(takeAll(queue)).toEqual(['b', 'a', 'c']);
  });

  test('that is added urgently while it is worked on is urgent afterwards', () => {
    const { queue } = started();
    queue.add('a');
    queue.add('b');
    queue.take('normal');
    queue.add('a', { priority: 'urgent' });
    queue.add('a');
    queue.done('a');
    expect(takeAll(queue)).toEqual(['a', 'b']);
  });

  test('keeps the time of its oldest evidence', () => {
    const { queue } = started();
    queue.add('a', { priority: 'normal', dirtySinceMs: 7 });
    queue.add('a', { priority: 'normal', dirtySinceMs: 3 });
    queue.add('a');
    expect(queue.take('normal')).toMatchObject({ key: 'a', dirtySinceMs: 3 });
    queue.add('a', { priority: 'normal', dirtySinceMs: 9 });
    queue.done('a');
    expect(queue.take('normal')).toMatchObject({ dirtySinceMs: 9 });
  });
});

describe('a delayed key', () => {
  test('comes when its time has come, with what it was added for', async () => {
    const { clock, queue } = started();
    queue.addAfter('a', 100, { priority: 'urgent', dirtySinceMs: 1 });
    await clock.advance(99);
    expect(queue.take('urgent')).toBeUndefined();
    await clock.advance(1);
    expect(queue.take('urgent')).toEqual({ key: 'a', priority: 'urgent', lane: 'urgent', dirtySinceMs: 1 });
  });

  test.each([
    [100, 50],
    [50, 100],
  ])('with two times (%i and %i ms) comes at the earlier one, once', async (first, second) => {
    const { clock, queue } = started();
    queue.addAfter('a', first);
    queue.addAfter('a', second, { priority: 'urgent' });
    await clock.advance(50);
    expect(queue.take('urgent')).toMatchObject({ key: 'a', priority: 'urgent' });
    queue.done('a');
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(1000);
    expect(takeAll(queue)).toEqual([]);
  });

  test('does not keep the key from being added at once', async () => {
    const { clock, queue } = started();
    queue.addAfter('a', 100);
    queue.add('a');
    expect(takeAll(queue)).toEqual(['a']);
    await clock.advance(100);
    expect(takeAll(queue)).toEqual(['a']);
  });
});

describe('retrying', () => {
  test('waits longer each time, up to a limit, and from the beginning after forget', () => {
    const { queue } = started({ random: () => 0 });
    const delays = Array.from({ length: 12 }, () => queue.retry('a'));
    expect(delays.slice(0, 3)).toEqual([RETRY_BASE_MS / 2, RETRY_BASE_MS, RETRY_BASE_MS * 2]);
    expect(delays.at(-1)).toBe(RETRY_MAX_MS / 2);
    expect(queue.retries('a')).toBe(12);
    expect(queue.retry('b')).toBe(RETRY_BASE_MS / 2);
    queue.forget('a');
    expect(queue.retry('a')).toBe(RETRY_BASE_MS / 2);
  });
});

describe('the queue', () => {
  test('tells how many keys wait, and for how long each did', async () => {
    const waits: number[] = [];
    const { clock, queue } = started({ onTake: (waitedMs) => waits.push(waitedMs) });
    queue.add('a');
    await clock.advance(30);
    queue.add('a', { priority: 'urgent' });
    queue.add('b');
    expect(queue.depth).toBe(2);
    await clock.advance(10);
    takeAll(queue);
    expect(waits).toEqual([40, 10]);
    expect(queue.depth).toBe(0);
  });

  test('is ready when a key is added, when its time has come, and when it is to be worked on again', async () => {
    let ready = 0;
    const { clock, queue } = started({ onReady: () => ready++ });
    queue.add('a');
    expect(ready).toBe(1);
    queue.take('normal');
    queue.add('a');
    expect(ready).toBe(1);
    queue.done('a');
    expect(ready).toBe(2);
    queue.addAfter('b', 10);
    await clock.advance(10);
    expect(ready).toBe(3);
  });

  test('that is cleared has nothing left, also of what is worked on', async () => {
    const { clock, queue } = started();
    queue.add('a');
    queue.take('normal');
    queue.add('a');
    queue.add('b');
    queue.retry('c');
    queue.clear();
    queue.done('a');
    expect(takeAll(queue)).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect([queue.retries('c'), queue.depth]).toEqual([0, 0]);
  });
});

test('a queue that is cleared takes what is added afterwards, also a key that waited', () => {
  const { queue } = started();
  queue.add('a');
  queue.add('b', { priority: 'urgent' });
  queue.clear();
  expect(queue.depth).toBe(0);
  expect(takeAll(queue)).toEqual([]);
  queue.add('b');
  queue.add('a', { priority: 'urgent' });
  expect(queue.depth).toBe(2);
  expect(takeAll(queue)).toEqual(['a', 'b']);
});

/** The laws as a model of a few lines: what waits, in order, and what is worked on. */
type Model = { urgent: string[]; normal: string[]; working: Map<string, 'clean' | 'normal' | 'urgent'> };

const keys = fc.constantFrom('a', 'b', 'c', 'd');
const priorities = fc.constantFrom('urgent' as const, 'normal' as const);
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('add' as const), key: keys, priority: priorities }),
    fc.record({ do: fc.constant('take' as const), priority: priorities }),
    fc.record({ do: fc.constant('done' as const), key: keys }),
  ),
  { maxLength: 200 },
);

function modelAdd(model: Model, key: string, priority: 'urgent' | 'normal'): void {
  const state = model.working.get(key);
  if (state !== undefined) {
    model.working.set(key, state === 'urgent' ? 'urgent' : priority);
    return;
  }
  if (model.urgent.includes(key)) return;
  if (priority === 'urgent') {
    model.normal = model.normal.filter((each) => each !== key);
    model.urgent.push(key);
  } else if (!model.normal.includes(key)) model.normal.push(key);
}

test('any history leaves the queue as the model says', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const { queue } = started();
      const model: Model = { urgent: [], normal: [], working: new Map() };
      for (const step of history) {
        if (step.do === 'add') {
          queue.add(step.key, { priority: step.priority });
          modelAdd(model, step.key, step.priority);
        } else if (step.do === 'take') {
          const expected = model[step.priority].shift();
          expect(queue.take(step.priority)?.key).toBe(expected);
          if (expected !== undefined) model.working.set(expected, 'clean');
        } else if (model.working.has(step.key)) {
          const state = model.working.get(step.key);
          model.working.delete(step.key);
          queue.done(step.key);
          if (state === 'urgent' || state === 'normal') modelAdd(model, step.key, state);
        }
        expect(queue.depth).toBe(model.urgent.length + model.normal.length);
      }
    }),
  );
});
