import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { carryOut, stage } from './node-controller.test-fixtures.ts';

const GPU = serviceOf('gpu', {
  checks: [podsCheck('gpu')],
  nodeSelector: { matchLabels: { 'device.rollcall.dev/edgetpu': 'true' } } as never,
  publish: { label: 'example.com/gpu' },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

test('a gate that opened since its time was over says what was missing, also on a node without an agent', async () => {
  const told: (readonly string[])[] = [];
  const { controller, fleet, clock, pass, evaluated } = stage({
    services: () => [GPU],
    startupGate: { requires: ['gpu'], maxWaitMs: 600_000 },
    subscribers: {
      happened: (all) => told.push(...all.flatMap((each) => (each.kind === 'gate-opened' ? [each.missing] : []))),
    },
  });
  const metadata = { name: 'n', uid: 'u', creationTimestamp: new Date(clock.now()).toISOString() };
  const taints = [{ key: STARTUP_TAINT, value: '', effect: 'NoSchedule' }];
  fleet.nodeHandlers.onReplace([]);
  fleet.nodeHandlers.onUpsert(
    fleet.observe({ metadata: { ...metadata, resourceVersion: '1' }, spec: { taints }, status: {} }),
  );
  expect(controller.prepare('n')?.taints).toBeUndefined();
  await pass(601);
  expect(evaluated('n')?.freshness.state).toBe('absent');
  const plan = carryOut(controller, 'n');
  expect(plan?.taints?.remove).toEqual([STARTUP_TAINT]);
  expect(plan?.decision.intent.get(`taint:${STARTUP_TAINT}`)?.reason).toContain('without the service gpu');
  if (!plan) expect.unreachable();
  controller.written({ metadata: { ...metadata, resourceVersion: '2' }, spec: { taints: [] }, status: {} }, plan);
  expect(told).toEqual([['the service gpu']]);
});
