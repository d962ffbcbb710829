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
  const times = { periodMilliseconds: 1000, timeoutMilliseconds: 500, failureThreshold: 3, successThreshold: 1 };
  const pods = { namespace: 'kube-system', selector: { matchLabels: { app: 'mirror' } }, daemonSet: 'mirror' };
  const { service, unknownField } = observeNodeService({
    metadata,
    spec: {
      nodeSelector: { matchLabels: { 'kubernetes.io/os': 'linux' } },
      pods,
      probe: { http: { port: 5000, path: '/v2/', statuses: ['401'] }, host: 'Node', ...times },
      mode: 'Startup',
      publish: { label: 'example.com/mirror', taint: { key: 'example.com/no-mirror', effect: 'NoSchedule' } },
    },
  });
  expect(service).toEqual({
    name: 'mirror',
    nodeSelector: { matchLabels: { 'kubernetes.io/os': 'linux' } },
    pods,
    probe: { spec: { kind: 'http', path: '/v2/', statuses: ['401'] }, port: 5000, host: 'Node', ...times },
    mode: 'Startup',
    publish: { label: 'example.com/mirror', taint: { key: 'example.com/no-mirror', value: '', effect: 'NoSchedule' } },
    origin,
  });
  expect(unknownField).toBeUndefined();
});

test('one that says little has a label of its own name, and is evaluated all the time', () => {
  expect(observeNodeService({ metadata, spec: { csiDriver: 'ebs.csi.aws.com' } }).service).toEqual({
    name: 'mirror',
    csiDriver: 'ebs.csi.aws.com',
    mode: 'Continuous',
    publish: { label: 'service.rollcall.dev/mirror' },
    origin,
  });
});

test('a probe at a path has no port', () => {
  const { service } = observeNodeService({ metadata, spec: { probe: { csi: { socket: '/csi.sock' } } } });
  expect(service.probe).toEqual({ spec: { kind: 'csi', socket: '/csi.sock' } });
});

test('one without a generation or a time of creation counts as the first and oldest', () => {
  const { generation, createdAtMs } = observeNodeService({ metadata: { name: 'a', uid: 'u', resourceVersion: '1' } });
  expect({ generation, createdAtMs }).toEqual({ generation: 0, createdAtMs: 0 });
});

test('what is wrong with a device is told with its place', () => {
  const { service, devicesProblem } = observeNodeService({
    metadata,
    spec: { devices: ['edgetpu >= 1', 'nvida-gpu >= 8'] },
  });
  expect(service.devices?.map(({ text }) => text)).toEqual(['edgetpu >= 1']);
  expect(devicesProblem).toMatch(/^spec\.devices\[1\], column 1: /);
});

test('a newer kind of probe is left to the agents', () => {
  const { service, unknownField } = observeNodeService({ metadata, spec: { probe: { later: { port: 1 } } } });
  expect([service.probe, unknownField]).toEqual([{ spec: { kind: 'later' }, port: 1 }, undefined]);
});

test.each([
  [{ podz: {} }, 'spec.podz'],
  [{ probe: { tcp: { port: 1 }, jitterMilliseconds: 5 } }, 'spec.probe.jitterMilliseconds'],
  [{ probe: { http: { port: 1, method: 'HEAD' } } }, 'spec.probe.http.method'],
  [{ pods: { namespace: 'a', selector: {}, minReady: 2 } }, 'spec.pods.minReady'],
  [
    { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] } },
    'spec.nodeSelector.matchExpressions[0].operator',
  ],
  [{ publish: { taint: { key: 'a', effect: 'NoSchedule', timeAdded: 'x' } } }, 'spec.publish.taint.timeAdded'],
  [{ mode: 'Once' }, 'spec.mode'],
])('a field of %j that only a newer version knows is named', (spec, field) => {
  expect(observeNodeService({ metadata, spec }).unknownField).toBe(field);
});
