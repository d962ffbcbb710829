import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Assumptions } from './assumptions.ts';

const pod = (id: string) => ({ id, asks: { cpu: 1, memory: 2 } });

test('a pod counts on its node until it is dropped', () => {
  const assumptions = new Assumptions(new FakeClock());
  assumptions.assume(pod('p'), 'n');
  assumptions.assume(pod('q'), 'n');
  expect(assumptions.loads().get('n')).toEqual({ pods: 2, cpu: 2, memory: 4 });
  expect(assumptions.loadsWithout('p').get('n')).toEqual({ pods: 1, cpu: 1, memory: 2 });
  assumptions.drop('p');
  assumptions.drop('p');
  expect(assumptions.loads().get('n')?.pods).toBe(1);
});

test('a pod counts on one node only, the last', () => {
  const assumptions = new Assumptions(new FakeClock());
  assumptions.assume(pod('p'), 'a');
  assumptions.assume(pod('p'), 'b');
  expect([...assumptions.loads()]).toEqual([['b', { pods: 1, cpu: 1, memory: 2 }]]);
});

test('a pod counts for as long as kube-scheduler may take to bind it, and no longer', async () => {
  const clock = new FakeClock();
  const assumptions = new Assumptions(clock);
  assumptions.assume(pod('p'), 'n');
  await clock.advance(599_999);
  expect(assumptions.loads().get('n')?.pods).toBe(1);
  await clock.advance(1);
  expect(assumptions.loads().get('n')).toBeUndefined();
});

test('no more than ten thousand pods are kept in mind', () => {
  const assumptions = new Assumptions(new FakeClock());
  for (let index = 0; index < 10_050; index += 1) assumptions.assume(pod(`p${index}`), 'n');
  expect(assumptions.loads().get('n')?.pods).toBe(10_000);
});

test('counts agree with the pods, whatever happens in whatever order', async () => {
  const step = fc.record({
    id: fc.constantFrom('p', 'q', 'r'),
    node: fc.constantFrom('a', 'b', undefined),
    waitMs: fc.nat({ max: 360_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock();
      const assumptions = new Assumptions(clock);
      const model = new Map<string, { node: string; atMs: number }>();
      for (const { id, node, waitMs } of steps) {
        clock.standStill(waitMs);
        if (node === undefined) {
          assumptions.drop(id);
          model.delete(id);
        } else {
          assumptions.assume(pod(id), node);
          model.set(id, { node, atMs: clock.monotonic() });
        }
        for (const name of ['a', 'b']) {
          const live = [...model.values()].filter((one) => clock.monotonic() - one.atMs < 600_000);
          expect(assumptions.loads().get(name)?.pods ?? 0).toBe(live.filter((one) => one.node === name).length);
        }
      }
    }),
  );
});
