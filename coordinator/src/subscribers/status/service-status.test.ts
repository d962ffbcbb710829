import { expect, test } from 'vitest';
import type { ObservedNodeService } from '../../state/services/node-service.ts';
import { provenTaintIn, type ServiceFacts, type ServiceStatus, serviceStatus } from './service-status.ts';

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

test.each([
  [{ ready: 2, 'not-ready': 1, unknown: 1 }, 'False', 'NotReady', 'Ready on 2 of 4 nodes'],
  [{ ready: 2, 'not-ready': 0, unknown: 1 }, 'Unknown', 'Unknown', 'Ready on 2 of 3 nodes'],
  [{ ready: 2, 'not-ready': 0, unknown: 0 }, 'True', 'Ready', 'Ready on 2 of 2 nodes'],
  [{ ready: 0, 'not-ready': 0, unknown: 0 }, 'True', 'NoNodes', 'The nodeSelector selects no node'],
])('a service with %j is ready: %s', (count, status, reason, message) => {
  const { nodesSelected, nodesReady, nodesNotReady, nodesUnknown, conditions } = statusOf({ count });
  expect([nodesReady, nodesNotReady, nodesUnknown]).toEqual([count.ready, count['not-ready'], count.unknown]);
  expect(nodesSelected).toBe(count.ready + count['not-ready'] + count.unknown);
  expect(conditions).toMatchObject([
    { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'Its keys are published' },
    { type: 'Ready', status, reason, message },
  ]);
});

test('of a service that is refused no node counts, and its readiness is unknown', () => {
  const refusal = { reason: 'KeyTaken', message: 'm' };
  const { conditions, ...counts } = statusOf({ refusal, problem: 'p', count: UNHEARD });
  expect(counts).toEqual({ observedGeneration: 1, nodesSelected: 0, nodesReady: 0, nodesNotReady: 0, nodesUnknown: 0 });
  expect(conditions).toMatchObject([
    { status: 'False', ...refusal },
    { status: 'Unknown', reason: 'NotAccepted', message: 'It is not accepted, so no node is checked' },
  ]);
});

test('of a service whose pods cannot be watched the nodes count all the same', () => {
  const { conditions, nodesReady } = statusOf({ problem: 'p' });
  expect(nodesReady).toBe(2);
  expect(conditions[0]).toMatchObject({ status: 'False', reason: 'NotPermitted', message: 'p' });
});

test('the taint that was seen to go is kept, and can be read from the status', () => {
  const status = statusOf({ provenTaint: 'k:NoSchedule' });
  expect(status.provenTaint).toBe('k:NoSchedule');
  expect(provenTaintIn(status)).toBe('k:NoSchedule');
  expect(statusOf({})).not.toHaveProperty('provenTaint');
  for (const status of [undefined, null, {}]) expect(provenTaintIn(status)).toBeUndefined();
});

test.each([{ nodesReady: '2' }, { nodesNotReady: undefined }, { nodesUnknown: null }])(
  'a count that others have written, as %j, is not taken over',
  (odd) => {
    const before = { ...statusOf({}), ...odd } as unknown as ServiceStatus;
    expect(statusOf({ isTakingOver: true, count: UNHEARD }, before)).toMatchObject({ nodesReady: 1, nodesUnknown: 1 });
  },
);
