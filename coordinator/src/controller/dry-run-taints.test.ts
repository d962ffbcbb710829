import { expect, test } from 'vitest';
import { registryOf } from '../model/keys/key-registry.test-fixtures.ts';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';

test('a dry run leaves a taint of its key that others set, such as the kubelet when it registers the node', () => {
  const taint = { key: 'service.rollcall.dev/a', value: '', effect: 'NoSchedule' } as const;
  const origin = { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } as const;
  const dry = serviceOf('a', { checks: [podsCheck('a')], publish: {}, dryRun: { taint }, origin });
  const { fleet, controller } = stage({ services: () => [dry], keys: registryOf({ watchedServices: [] }) });
  const metadata = { name: 'n', uid: 'n', resourceVersion: '1' };
  fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: { taints: [taint] }, status: {} } as never));
  expect(controller.prepare('n')?.taints).toBeUndefined();
});
