import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE = serviceOf('a', {
  checks: [podsCheck('a')],
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

/** A stage in which no time is left in this moment to observe a node that changes. */
function hurried() {
  const observed: string[] = [];
  const all = stage({ services: () => [SERVICE], subscribers: { changed: (name) => observed.push(name) } });
  const { fleet, controller, clock } = all;
  const nodeOf = (name: string, version: number, taints: object[] = []) =>
    ({ metadata: { name, uid: name, resourceVersion: `${version}` }, spec: { taints }, status: {} }) as never;
  for (const name of ['n0', 'n1']) fleet.nodeHandlers.onUpsert(fleet.observe(nodeOf(name, 1)));
  observed.length = 0;
  const hurry = () => {
    controller.changed('n1', false);
    clock.standStill(100);
    observed.length = 0;
  };
  return { ...all, observed, nodeOf, hurry };
}

test('a node that changes when no time is left is observed in the next slice, once', async () => {
  const { controller, observed, hurry } = hurried();
  hurry();
  controller.changed('n0', false);
  expect(observed).toEqual([]);
  await setImmediate();
  expect(observed).toEqual(['n0']);
});

test('a node that is planned before its slice is observed first, and not again', async () => {
  const { controller, observed, hurry } = hurried();
  hurry();
  controller.changed('n0', false);
  controller.prepare('n0');
  expect(observed).toEqual(['n0']);
  await setImmediate();
  expect(observed).toEqual(['n0']);
});

test('a taint that an answer shows is counted before the place of its request is free, also when no time is left', () => {
  const { controller, nodeOf, hurry } = hurried();
  const plan = controller.prepare('n0');
  if (!plan) expect.unreachable();
  const ended = controller.sent(plan);
  hurry();
  controller.written(nodeOf('n0', 2, [TAINT]), plan);
  ended(true);
  expect(controller.prepare('n1')?.taints).toBeUndefined();
});
