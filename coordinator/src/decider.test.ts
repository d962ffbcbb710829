import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { expect, test } from 'vitest';
import { Decider, type DeciderOptions } from './decider.ts';

test('of two hints in one second, each changes the node', async () => {
  const clock = new FakeClock();
  const options = {
    services: [],
    gate: 'label',
    poolLabels: [],
    forbiddenLabelDomains: [],
    startupGate: { requires: [], maxWaitMs: 0 },
    factLabels: [],
    mayDecide: () => false,
    windowMs: 30_000,
    guardPercent: 0,
    clock,
    random: () => 0,
    logger: silentLogger(),
    registry: new Registry(),
    announcer: { forget: () => {} },
    followUps: { forget: () => {} },
  };
  const decider = new Decider(options as unknown as DeciderOptions);
  decider.fleet.nodeHandlers.onUpsert(
    decider.fleet.observe({ metadata: { name: 'n', uid: 'u', resourceVersion: '1' } } as never),
  );
  const hint = () => {
    decider.hint('n');
    return decider.judged('n')?.schedulingHint;
  };
  const first = hint();
  expect(first).toMatch(/^\d{4}-.*Z$/);
  await clock.advance(10);
  expect(hint()).not.toBe(first);
});
