import { expect, test } from 'vitest';
import type { ObservedNodeService } from '../../services/node-service.ts';
import { type ServiceFacts, type ServiceStatus, serviceStatus } from './service-status.ts';

const COUNTED = { ready: 2, 'not-ready': 0, unknown: 0 };
const UNHEARD = { ready: 1, 'not-ready': 0, unknown: 1 };
const NOW = '2026-01-01T00:00:00Z';

function statusOf(change: Partial<ServiceFacts>, before?: ServiceStatus, generation = 1): ServiceStatus {
  const object = { name: 'a', uid: 'u', generation, status: before } as ObservedNodeService;
  const given = { refusal: undefined, problem: undefined, isTakingOver: false, provenTaint: undefined };
  return serviceStatus({ object, count: COUNTED, now: NOW, ...given, ...change });
}

test('a take-over alone changes nothing, and what its leader has counted does', () => {
  const before = statusOf({});
  expect(statusOf({ isTakingOver: true, count: UNHEARD, now: 'later' }, before)).toEqual(before);
  expect(statusOf({ isTakingOver: true, count: { ...COUNTED, ready: 3 } }, before).nodesReady).toBe(3);
  expect(statusOf({ count: UNHEARD }, before)).toMatchObject({ nodesReady: 1, nodesUnknown: 1 });
});

test('what is new of the object does not wait for agents', () => {
  const before = statusOf({});
  expect(statusOf({ isTakingOver: true, count: UNHEARD }, before, 2)).toMatchObject({
    observedGeneration: 2,
    nodesUnknown: 1,
  });
  expect(statusOf({ isTakingOver: true, count: UNHEARD })).toMatchObject({ nodesUnknown: 1 });
  const refusal = { reason: 'KeyTaken', message: 'm' };
  expect(statusOf({ isTakingOver: true, count: UNHEARD, refusal }, before).conditions[0]).toMatchObject(refusal);
});
