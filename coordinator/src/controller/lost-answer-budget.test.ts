import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE = serviceOf('a', {
  checks: [podsCheck('a')],
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

test('a taint whose request was not answered keeps its place until the Node is known', () => {
  const { controller, fleet } = stage({ services: () => [SERVICE] });
  const show = (name: string, version: number, taints: object[] = []) =>
    fleet.nodeHandlers.onUpsert(
      fleet.observe({
        metadata: { name, uid: name, resourceVersion: `${version}` },
        spec: { taints },
        status: {},
      } as never),
    );
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
