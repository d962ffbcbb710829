import { describe, expect, test } from 'vitest';
import { probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { ConditionCheck, Service } from '../model/services.ts';
import { stage } from './node-controller.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const FINDING: ConditionCheck = {
  name: 'kernel',
  id: 'a/kernel',
  kind: 'condition',
  settings: { type: 'KernelDeadlock', status: 'False', missing: 'Unknown' },
};

function serviceWith(check: Service['checks'][number], effect: 'NoSchedule' | 'NoExecute' = 'NoSchedule'): Service {
  const origin = { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } as const;
  return serviceOf('a', { checks: [check], publish: { taint: { ...TAINT, effect } }, origin });
}

/** A Node that comes while this replica leads, and is younger than the service. */
function born(service: Service) {
  const all = stage({ services: () => [service] });
  const { fleet, clock, controller, agentPod, evaluated } = all;
  const metadata = {
    name: 'n',
    uid: 'n',
    resourceVersion: '1',
    creationTimestamp: new Date(clock.now()).toISOString(),
  };
  fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: {}, status: {} } as never));
  agentPod({ uid: 'p', ready: false, ageSeconds: 0 });
  return { state: evaluated()?.readiness.get('a')?.state, add: controller.prepare('n')?.taints?.add };
}

describe('a node that is younger than a NodeService has its taint until the service is ready there', () => {
  test('also while its agent was not heard yet', () => {
    const probe = probeCheck('a/probe', { spec: { kind: 'tcp' }, port: 80, host: 'Node' });
    expect(born(serviceWith(probe))).toEqual({ state: 'unknown', add: [TAINT] });
  });

  test('also while it does not have a condition yet that is checked', () => {
    expect(born(serviceWith(FINDING))).toEqual({ state: 'unknown', add: [TAINT] });
  });

  test('but for a taint that evicts, which needs evidence', () => {
    expect(born(serviceWith(FINDING, 'NoExecute'))).toEqual({ state: 'unknown', add: undefined });
  });
});
