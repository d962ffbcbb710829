import { expect, test } from 'vitest';
import { observeNodeService } from './node-service.ts';

const metadata = {
  name: 'mirror',
  uid: 'u',
  resourceVersion: '1',
  generation: 3,
  creationTimestamp: '1970-01-01T00:00:01Z',
};
const origin = { kind: 'object', uid: 'u', generation: 3, createdAtMs: 1000 };

test('a NodeService is read as a service', () => {
  const pods = { namespace: 'kube-system', selector: { matchLabels: { app: 'mirror' } }, daemonSet: 'mirror' };
  const { service, unknownField } = observeNodeService({
    metadata,
    spec: {
      nodeSelector: { matchLabels: { 'kubernetes.io/os': 'linux' } },
      checks: [
        { name: 'pod', pods },
        { name: 'socket', csi: { socket: '/csi.sock' } },
      ],
      mode: 'Startup',
      publish: { label: 'example.com/mirror', taint: { key: 'example.com/no-mirror', effect: 'NoSchedule' } },
    },
  });
  expect(service).toEqual({
    name: 'mirror',
    nodeSelector: { matchLabels: { 'kubernetes.io/os': 'linux' } },
    checks: [
      { name: 'pod', id: 'mirror/pod', kind: 'pods', settings: pods },
      expect.objectContaining({ name: 'socket', kind: 'probe', id: 'mirror/socket' }),
    ],
    mode: 'Startup',
    publish: { label: 'example.com/mirror', taint: { key: 'example.com/no-mirror', value: '', effect: 'NoSchedule' } },
    origin,
  });
  expect(unknownField).toBeUndefined();
});

test('one that says little has a label of its own name, and is evaluated all the time', () => {
  const checks = [{ name: 'registered', csiNode: { driver: 'ebs.csi.aws.com' } }];
  expect(observeNodeService({ metadata, spec: { checks } }).service).toEqual({
    name: 'mirror',
    checks: [{ name: 'registered', id: 'mirror/registered', kind: 'csiNode', settings: { driver: 'ebs.csi.aws.com' } }],
    mode: 'Continuous',
    publish: { label: 'service.rollcall.dev/mirror' },
    origin,
  });
});

test('one without a generation or a time of creation counts as the first and oldest', () => {
  const { generation, createdAtMs } = observeNodeService({ metadata: { name: 'a', uid: 'u', resourceVersion: '1' } });
  expect({ generation, createdAtMs }).toEqual({ generation: 0, createdAtMs: 0 });
});

test('nothing is made of the checks of one that is not understood', () => {
  const checks = [
    { name: 'port', tcp: { port: 1 } },
    { name: 'later', quic: { port: 1 } },
  ];
  expect(observeNodeService({ metadata, spec: { checks } })).toMatchObject({
    unknownField: 'spec.checks[1].quic',
    service: { name: 'mirror', checks: [], publish: { label: 'service.rollcall.dev/mirror' } },
  });
});

test.each([
  [{ podz: {} }, 'spec.podz'],
  [{ probe: { tcp: { port: 1 } } }, 'spec.probe'],
  [{ checks: undefined }, 'spec.checks'],
  [{ startupDeadline: '10' }, 'spec.startupDeadline'],
  [
    { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] } },
    'spec.nodeSelector.matchExpressions[0].operator',
  ],
  [{ publish: { taint: { key: 'a', effect: 'NoSchedule', timeAdded: 'x' } } }, 'spec.publish.taint.timeAdded'],
  [{ mode: 'Once' }, 'spec.mode'],
])('a field of %j that only a newer version knows is named', (spec, field) => {
  const checks = [{ name: 'port', tcp: { port: 1 } }];
  expect(observeNodeService({ metadata, spec: { checks, ...spec } }).unknownField).toBe(field);
});

test.each([
  ['was not read yet', { conditions: [] }, {}],
  ['is in force since its creation', { observedGeneration: 2, inForceSince: '1970-01-01T00:00:01Z' }, {}],
  ['came into force later', { observedGeneration: 2, inForceSince: '1970-01-01T00:00:09Z' }, { inForceSinceMs: 9000 }],
  ['is not in force', { observedGeneration: 2 }, { inForceSinceMs: Number.POSITIVE_INFINITY }],
  ['has no such time', { observedGeneration: 2, inForceSince: 'noon' }, { inForceSinceMs: Number.POSITIVE_INFINITY }],
])('nodes are younger than one that %s by its status', (_, status, since) => {
  expect(observeNodeService({ metadata, spec: {}, status }).service.origin).toEqual({ ...origin, ...since });
});
