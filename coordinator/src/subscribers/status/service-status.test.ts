import { expect, test } from 'vitest';
import type { ObservedNodeService } from '../../state/services/node-service.ts';
import { type ServiceFacts, type ServiceStatus, serviceStatus, servicesNowhere } from './service-status.ts';

const COUNTED = { ready: 2, 'not-ready': 0, unknown: 0 };
const UNHEARD = { ready: 1, 'not-ready': 0, unknown: 1 };
const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const NOW = '2026-01-01T00:00:00Z';

function statusOf(
  change: Partial<ServiceFacts>,
  before?: ServiceStatus,
  generation = 1,
  isDryRun = false,
): ServiceStatus {
  const publish = { label: 'example.com/a', taint: TAINT, condition: 'example.com/A' };
  const service = isDryRun ? { publish: {}, dryRun: publish } : { publish };
  const object = { name: 'a', uid: 'u', generation, createdAtMs: 0, status: before, service } as ObservedNodeService;
  const given = { refusal: undefined, problem: undefined, isTakingOver: false };
  return serviceStatus({ object, count: COUNTED, now: NOW, ...given, ...change });
}

test('a take-over alone changes nothing, and what its leader has counted does', () => {
  const before = statusOf({});
  expect(statusOf({ isTakingOver: true, count: UNHEARD, now: 'later' }, before)).toEqual(before);
  expect(statusOf({ isTakingOver: true, count: { ...COUNTED, ready: 3 } }, before).nodes.ready).toBe(3);
  expect(statusOf({ count: UNHEARD }, before)).toMatchObject({ nodes: { ready: 1, unknown: 1 } });
});

test('NodesReady names the commonest reason with a node, and the command that says more', () => {
  const commonest = {
    state: 'not-ready',
    reason: 'no pod matches app=x in kube-sytem',
    nodes: 5,
    example: 'n1',
  } as const;
  const message = (change: Partial<ServiceFacts>) =>
    statusOf({ count: { ready: 0, 'not-ready': 5, unknown: 0 }, ...change }).conditions[1]?.message;
  expect(message({ commonest })).toBe(
    'Ready on 0 of 5 nodes; no pod matches app=x in kube-sytem: 5 nodes, such as n1 (kubectl rollcall why nodeservice/a)',
  );
  expect(message({ commonest: { ...commonest, nodes: 1 } })).toContain('kube-sytem: 1 node, n1 (');
});

test('a take-over keeps what its predecessor said of the nodes, whatever is unknown for now', () => {
  const commonest = { state: 'not-ready', reason: 'r', nodes: 1, example: 'n1' } as const;
  const before = statusOf({ count: { ready: 1, 'not-ready': 1, unknown: 0 }, commonest });
  const unheard = { state: 'unknown', reason: 'the agent has not reported yet', nodes: 2, example: 'n1' } as const;
  const count = { ready: 0, 'not-ready': 0, unknown: 2 };
  expect(statusOf({ isTakingOver: true, count, commonest: unheard }, before)).toEqual(before);
});

test('a take-over keeps nothing of what its leader has seen to be otherwise', () => {
  const before = statusOf({ count: { ready: 5, 'not-ready': 0, unknown: 0 } });
  const count = { ready: 0, 'not-ready': 4, unknown: 1 };
  const { nodes, conditions } = statusOf({ isTakingOver: true, count }, before);
  expect([nodes, conditions[1]?.status]).toEqual([{ selected: 5, ready: 0, notReady: 4, unknown: 1 }, 'False']);
  const joined = { ready: 5, 'not-ready': 0, unknown: 1 };
  expect(statusOf({ isTakingOver: true, count: joined }, before).ready).toBe('5/6');
});

test('a take-over keeps nothing of an object that was refused', () => {
  const before = statusOf({ refusal: { reason: 'KeyTaken', message: 'm' } });
  expect(statusOf({ isTakingOver: true, count: UNHEARD }, before)).toMatchObject({ nodes: { ready: 1, unknown: 1 } });
});

test('what is new of the object does not wait for agents', () => {
  const before = statusOf({});
  expect(statusOf({ isTakingOver: true, count: UNHEARD }, before, 2)).toMatchObject({
    observedGeneration: 2,
    nodes: { unknown: 1 },
  });
  expect(statusOf({ isTakingOver: true, count: UNHEARD })).toMatchObject({ nodes: { unknown: 1 } });
  const refusal = { reason: 'KeyTaken', message: 'm' };
  expect(statusOf({ isTakingOver: true, count: UNHEARD, refusal }, before).conditions[0]).toMatchObject(refusal);
});

test.each([
  [{ ready: 2, 'not-ready': 1, unknown: 1 }, 'False', 'NodesNotReady', 'Ready on 2 of 4 nodes'],
  [{ ready: 2, 'not-ready': 0, unknown: 1 }, 'Unknown', 'NodesUnknown', 'Ready on 2 of 3 nodes'],
  [{ ready: 2, 'not-ready': 0, unknown: 0 }, 'True', 'AllNodesReady', 'Ready on 2 of 2 nodes'],
  [
    { ready: 0, 'not-ready': 0, unknown: 0 },
    'Unknown',
    'NoNodes',
    'The nodeSelector selects no node (kubectl rollcall why nodeservice/a)',
  ],
])('of %j all nodes are ready: %s', (count, status, reason, message) => {
  const { nodes, ready, conditions } = statusOf({ count });
  const { 'not-ready': notReady, ...counts } = count;
  const selected = count.ready + notReady + count.unknown;
  expect(nodes).toEqual({ selected, notReady, ...counts });
  expect(ready).toBe(`${count.ready}/${selected}`);
  expect(conditions).toMatchObject([
    { type: 'Ready', status: 'True', reason: 'InForce', message: 'Its checks decide about its keys' },
    { type: 'NodesReady', status, reason, message },
  ]);
});

test('of a service that is refused no node counts, and its readiness is unknown', () => {
  const refusal = { reason: 'KeyTaken', message: 'm' };
  const { conditions, ...counts } = statusOf({ refusal, problem: 'p', count: UNHEARD });
  expect(counts).toMatchObject({
    observedGeneration: 1,
    nodes: { selected: 0, ready: 0, notReady: 0, unknown: 0 },
    ready: '0/0',
  });
  expect(conditions).toMatchObject([
    { type: 'Ready', status: 'False', ...refusal },
    { type: 'Stalled', status: 'True', ...refusal },
    { type: 'NodesReady', status: 'Unknown', reason: 'NotInForce', message: 'Not in force: m' },
  ]);
});

test('of a service whose pods cannot be watched the nodes count all the same', () => {
  const { conditions, nodes } = statusOf({ problem: 'p' });
  expect(nodes.ready).toBe(2);
  expect(conditions[0]).toMatchObject({ status: 'False', reason: 'NotPermitted', message: 'p' });
});

test('the keys that nodes get are listed', () => {
  expect(statusOf({}).published).toEqual([
    { kind: 'Label', key: 'example.com/a' },
    { kind: 'Taint', key: 'example.com/no-a', effect: 'NoSchedule' },
    { kind: 'Condition', key: 'example.com/A' },
  ]);
  const object = { service: { publish: { label: 'a' } } } as ObservedNodeService;
  expect(statusOf({ object }).published).toEqual([{ kind: 'Label', key: 'a' }]);
});

test.each([{ ready: '2' }, { notReady: undefined }, { unknown: null }])(
  'a count that others have written, as %j, is not taken over',
  (odd) => {
    const status = statusOf({});
    const before = { ...status, nodes: { ...status.nodes, ...odd } } as unknown as ServiceStatus;
    expect(statusOf({ isTakingOver: true, count: UNHEARD }, before)).toMatchObject({ nodes: { ready: 1, unknown: 1 } });
  },
);

test('a service is in force since its creation, or since it was refused or a dry run the last time', () => {
  const CREATED = '1970-01-01T00:00:00Z';
  const first = statusOf({});
  expect(first.inForceSince).toBe(CREATED);
  expect(statusOf({ now: 'later' }, first).inForceSince).toBe(CREATED);
  expect(statusOf({ problem: 'm', now: 'later' }, first).inForceSince).toBe(CREATED);
  const refused = statusOf({ refusal: { reason: 'KeyTaken', message: 'm' } }, first);
  const dryRun = statusOf({}, first, 2, true);
  for (const before of [refused, dryRun]) {
    expect(before).not.toHaveProperty('inForceSince');
    const after = statusOf({ isTakingOver: true }, before, 3);
    expect(after.inForceSince).toBe(NOW);
    expect(statusOf({ now: 'later' }, after, 3).inForceSince).toBe(NOW);
  }
});

test('services that select no node are told by their statuses', () => {
  const none = statusOf({ count: { ready: 0, 'not-ready': 0, unknown: 0 } });
  const objects = [
    { name: 'a', status: none },
    { name: 'b', status: statusOf({}) },
    { name: 'c', status: undefined },
  ] as ObservedNodeService[];
  expect(servicesNowhere(objects)).toEqual(['a']);
});
