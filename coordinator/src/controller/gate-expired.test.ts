import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { observeDaemonSet } from '../state/daemon-sets.ts';
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

const DAEMON_SETS = { namespaces: [], exclude: [], startupTaints: [], onTimeout: 'Open' } as const;

test.each([
  ['for what is required alone', 3600, 60, []],
  ['for DaemonSets a moment', 60, 600, [300]],
])(
  'a node that waits %s is told of after half of the time for DaemonSets, and no sooner',
  async (_, most, timeout, at) => {
    const told: number[] = [];
    const { fleet, clock, pass } = stage({
      services: () => [],
      startupGate: {
        requires: ['example.com/a'],
        maxWaitMs: most * 1000,
        daemonSets: { ...DAEMON_SETS, timeoutMs: timeout * 1000 },
      },
      subscribers: {
        happened: (all) => {
          const now = Math.round((clock.monotonic() - beganMs) / 1000);
          if (all.some(({ kind }) => kind === 'gate-waits')) told.push(now);
        },
      },
    });
    const beganMs = clock.monotonic();
    const metadata = { uid: 'u', namespace: 's', name: 'd', resourceVersion: '1' };
    const spec = { template: { spec: { tolerations: [{ operator: 'Exists' }] } } };
    fleet.onDemand.daemonPods.handlers().onReplace([]);
    fleet.onDemand.daemonSets.handlers().onReplace(at.length > 0 ? [observeDaemonSet({ metadata, spec })] : []);
    const taints = [{ key: STARTUP_TAINT, value: '', effect: 'NoSchedule' }];
    fleet.nodeHandlers.onReplace([]);
    const creationTimestamp = new Date(clock.now()).toISOString();
    fleet.nodeHandlers.onUpsert(
      fleet.observe({
        metadata: { name: 'n', uid: 'u', creationTimestamp, resourceVersion: '1' },
        spec: { taints },
        status: {},
      }),
    );
    await pass(599);
    expect(told).toEqual(at);
  },
);
