import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QueueFullError, ReviewQueue } from './review-queue.ts';

/** A task that runs until it is told to end. */
function openTask() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { task: () => promise, end: resolve };
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('ReviewQueue', () => {
  it('runs no more than allowed at once, and the rest in order', async () => {
    const queue = new ReviewQueue({ runningMax: 1, waitingMax: 8 });
    const order: string[] = [];
    const first = openTask();
    const running = queue.run(false, first.task);
    const waiting = ['a', 'b'].map((name) => queue.run(false, async () => void order.push(name)));
    await settle();
    expect(order).toEqual([]);
    expect(queue.waiting).toBe(2);
    first.end();
    await Promise.all([running, ...waiting]);
    expect(order).toEqual(['a', 'b']);
  });

  it('lets known clients overtake unknown ones', async () => {
    const queue = new ReviewQueue({ runningMax: 1, waitingMax: 8 });
    const order: string[] = [];
    const first = openTask();
    const running = queue.run(false, first.task);
    const unknown = queue.run(false, async () => void order.push('unknown'));
    const known = queue.run(true, async () => void order.push('known'));
    first.end();
    await Promise.all([running, unknown, known]);
    expect(order).toEqual(['known', 'unknown']);
  });

  it('refuses at once when all places are taken, but keeps places for known clients', async () => {
    const queue = new ReviewQueue({ runningMax: 1, waitingMax: 1 });
    const first = openTask();
    const running = queue.run(false, first.task);
    const unknown = queue.run(false, async () => {});
    await expect(queue.run(false, async () => {})).rejects.toBeInstanceOf(QueueFullError);
    const known = queue.run(true, async () => {});
    await expect(queue.run(true, async () => {})).rejects.toBeInstanceOf(QueueFullError);
    first.end();
    await Promise.all([running, unknown, known]);
    expect(queue.waiting).toBe(0);
  });

  it('goes on after a task that fails', async () => {
    const queue = new ReviewQueue({ runningMax: 1, waitingMax: 1 });
    await expect(queue.run(false, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(queue.run(false, async () => 'yes')).resolves.toBe('yes');
  });

  it('never runs more than allowed, and loses no task, in any order of beginnings and ends', async () => {
    const step = fc.record({ known: fc.boolean(), turns: fc.integer({ min: 0, max: 3 }), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 4 }), async (steps, runningMax) => {
        const queue = new ReviewQueue({ runningMax, waitingMax: 100 });
        let running = 0;
        let highest = 0;
        const results = steps.map(({ known, turns, fails }) =>
          queue.run(known, async () => {
            running += 1;
            highest = Math.max(highest, running);
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            running -= 1;
            if (fails) throw new Error('failed');
          }),
        );
        const settled = await Promise.allSettled(results);
        expect(settled.map(({ status }) => status === 'rejected')).toEqual(steps.map(({ fails }) => fails));
        expect(highest).toBeLessThanOrEqual(runningMax);
      }),
      { numRuns: 50 },
    );
  });
});
