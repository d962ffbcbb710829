import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE = serviceOf('a', {
  checks: [podsCheck('a')],
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

/** A stage with the service, and a way to show a Node. */
function staged(change: Parameters<typeof stage>[0] = {}) {
  const all = stage({ services: () => [SERVICE], ...change });
  const { fleet } = all;
  const show = (name: string, version: number, taints: object[] = []) => {
    const metadata = { name, uid: name, resourceVersion: `${version}` };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: { taints }, status: {} } as never));
  };
  return { ...all, show };
}

test('a taint whose request was not answered keeps its place until the Node is known', () => {
  const { controller, show } = staged();
  for (const name of ['n0', 'n1']) show(name, 1);
  const first = controller.prepare('n0');
  if (!first) expect.unreachable();
  expect(first.taints?.add).toHaveLength(1);
  const ended = controller.sent(first);
  expect(controller.prepare('n1')?.taints).toBeUndefined();
  // The API server may have carried it out.
  ended(false);
  expect(controller.prepare('n1')?.taints).toBeUndefined();
  expect(controller.prepare('n0')?.taints?.add).toHaveLength(1);
  show('n0', 2, [TAINT]);
  expect(controller.prepare('n1')?.taints).toBeUndefined();
  // The place is free once the Node is without.
  const again = controller.prepare('n0');
  if (again) controller.rested(again);
  show('n0', 3);
  const next = controller.prepare('n0');
  if (!next) expect.unreachable();
  controller.sent(next)(true);
  expect(controller.prepare('n1')?.taints?.add).toHaveLength(1);
});

test('a replica that does not lead answers by the taints that Nodes have now', () => {
  const { queries, show } = staged({ mayDecide: () => false });
  show('n0', 1, [TAINT]);
  show('n1', 1);
  const stanceOn = (name: string) => queries.explain(name)?.intent.get(`taint:${TAINT.key}`)?.stance;
  expect(stanceOn('n1')).toBe('absent');
  show('n0', 2);
  expect(stanceOn('n1')).toBe('present');
  show('n0', 3, [TAINT]);
  expect(stanceOn('n1')).toBe('absent');
});

test('a dry run plans no more taints than would be written, and others once a node is ready', async () => {
  const { controller, show, clock } = staged({ dryRun: true, fence: { remainingMs: () => 10_000 } });
  const names = Array.from({ length: 10 }, (_, at) => `n${at}`);
  const planned = () => names.filter((name) => controller.prepare(name)?.taints?.add.length === 1);
  for (const name of names) show(name, 1);
  await clock.advance(1000);
  expect(planned()).toEqual(['n0', 'n1']);
  // Another writer closed one of them.
  show('n0', 2, [TAINT]);
  await clock.advance(1000);
  controller.tick();
  await clock.advance(1000);
  expect(planned()).toEqual(['n1']);
  show('n0', 3);
  await clock.advance(1000);
  expect(planned()).toHaveLength(2);
});
