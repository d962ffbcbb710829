import { FakeClock } from '@rollcall/common/fake-clock.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Assumptions } from './assumptions.ts';

test('a pod counts on its node until it is dropped', () => {
  const assumptions = new Assumptions(new FakeClock());
  assumptions.assume('p', 'n');
  assumptions.assume('q', 'n');
  expect(assumptions.counts().get('n')).toBe(2);
  expect(assumptions.nodeOf('p')).toBe('n');
  assumptions.drop('p');
  assumptions.drop('p');
  expect(assumptions.counts().get('n')).toBe(1);
});

test('a pod counts on one node only, the last', () => {
  const assumptions = new Assumptions(new FakeClock());
  assumptions.assume('p', 'a');
  assumptions.assume('p', 'b');
  expect([...assumptions.counts()]).toEqual([['b', 1]]);
});

test('a pod counts for as long as kube-scheduler may take to bind it, and no longer', async () => {
  const clock = new FakeClock();
  const assumptions = new Assumptions(clock);
  assumptions.assume('p', 'n');
  await clock.advance(599_999);
  expect(assumptions.counts().get('n')).toBe(1);
  await clock.advance(1);
  expect(assumptions.counts().get('n')).toBeUndefined();
});

test('no more than ten thousand pods are kept in mind', () => {
  const assumptions = new Assumptions(new FakeClock());
  for (let pod = 0; pod < 10_050; pod += 1) assumptions.assume(`p${pod}`, 'n');
  expect(assumptions.counts().get('n')).toBe(10_000);
});

test('counts agree with the pods, whatever happens in whatever order', async () => {
  const step = fc.record({
    pod: fc.constantFrom('p', 'q', 'r'),
    node: fc.constantFrom('a', 'b', undefined),
    waitMs: fc.nat({ max: 360_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock();
      const assumptions = new Assumptions(clock);
      const model = new Map<string, { node: string; atMs: number }>();
      for (const { pod, node, waitMs } of steps) {
        clock.standStill(waitMs);
        if (node === undefined) {
          assumptions.drop(pod);
          model.delete(pod);
        } else {
          assumptions.assume(pod, node);
          model.set(pod, { node, atMs: clock.monotonic() });
        }
        for (const name of ['a', 'b']) {
          const live = [...model.values()].filter((one) => clock.monotonic() - one.atMs < 600_000);
          expect(assumptions.counts().get(name) ?? 0).toBe(live.filter((one) => one.node === name).length);
        }
      }
    }),
  );
});
