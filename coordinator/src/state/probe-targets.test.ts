import { describe, expect, test } from 'vitest';
import { podsCheck, probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service, ServiceCheck, ServiceProbe } from '../model/services.ts';
import type { ObservedPod } from './observed-pod.ts';
import { POD_ADDRESSES_MAX, servicesToProbe as toProbe } from './probe-targets.ts';

const TOLERATIONS: readonly never[] = [];
const SERVICES = [probed('ws-daemon', 'Pod'), probed('registry-facade', 'Node')];

function probed(name: string, host: NonNullable<ServiceProbe['host']>): Service {
  return serviceOf(name, { checks: [podsCheck(name), probeCheck(name, { spec: { kind: 'tcp' }, port: 80, host })] });
}

function pod(component: string, podIP: string, change: Partial<ObservedPod> = {}): ObservedPod {
  const name = `${component}-${podIP}`;
  const base = {
    uid: name,
    namespace: 'default',
    name,
    labels: { component },
    daemonSet: '',
    tolerations: TOLERATIONS,
    node: 'n',
    createdAtMs: 0,
    podIP,
    hostIP: '10.0.0.7',
  };
  return { ...base, ready: true, terminating: false, startTime: '', readySinceMs: 0, ...change };
}

/** Without the digests of the checks. */
function servicesToProbe(...given: Parameters<typeof toProbe>) {
  return toProbe(...given).map(({ digest: _digest, ...service }) => service);
}

const optional = (service: Service): Service => ({
  ...service,
  checks: service.checks.map((check) =>
    check.kind === 'pods' ? { ...check, settings: { ...check.settings, optional: true } } : check,
  ),
});

describe('servicesToProbe', () => {
  test('says where each service is, and every address that its pods have', () => {
    const pods = [pod('ws-daemon', '10.1.0.1'), pod('ws-daemon', '10.1.0.2'), pod('registry-facade', '10.1.0.3')];
    expect(servicesToProbe(SERVICES, pods)).toEqual([
      {
        ...{ name: 'ws-daemon', probe: { kind: 'tcp' }, target: { host: '10.1.0.1', port: 80 } },
        podAddresses: ['10.0.0.7', '10.1.0.1', '10.1.0.2'],
      },
      {
        ...{ name: 'registry-facade', probe: { kind: 'tcp' }, target: { host: '10.0.0.7', port: 80 } },
        podAddresses: ['10.0.0.7', '10.1.0.3'],
      },
    ]);
  });

  test('names the pod that replaces one, as soon as it has an address', () => {
    const old = pod('ws-daemon', '10.1.0.1', { terminating: true });
    const hostOf = (pods: ObservedPod[]) => servicesToProbe(SERVICES, pods)[0]?.target?.host;
    expect(hostOf([old, pod('ws-daemon', '', { ready: false })])).toBe('10.1.0.1');
    expect(hostOf([old, pod('ws-daemon', '10.1.0.2', { ready: false })])).toBe('10.1.0.2');
  });

  test('names the one that is Ready, of several that stay or that all go', () => {
    for (const terminating of [false, true]) {
      const pods = [
        pod('ws-daemon', '10.1.0.1', { ready: false, terminating }),
        pod('ws-daemon', '10.1.0.2', { terminating }),
        pod('ws-daemon', '10.1.0.3', { ready: false, terminating }),
      ];
      for (const seen of [pods, pods.toReversed()]) {
        expect(servicesToProbe(SERVICES, seen)[0]?.target?.host).toBe('10.1.0.2');
      }
    }
  });

  test('names the same one of two that are alike, in whatever order they come', () => {
    const pods = [pod('ws-daemon', '10.1.0.1'), pod('ws-daemon', '10.1.0.2')];
    for (const seen of [pods, pods.toReversed()]) {
      expect(servicesToProbe(SERVICES, seen)[0]?.target?.host).toBe('10.1.0.1');
    }
  });

  test('leaves out what has no pod, unless none is needed', () => {
    const pods = [pod('registry-facade', '10.1.0.3')];
    expect(servicesToProbe(SERVICES, pods).map(({ name }) => name)).toEqual(['registry-facade']);
    expect(servicesToProbe(SERVICES.map(optional), pods)).toEqual([
      { name: 'ws-daemon', probe: { kind: 'tcp', port: 80 } },
      expect.objectContaining({ name: 'registry-facade' }),
    ]);
  });

  const mirror = (...checks: ServiceCheck[]): Service => ({
    name: 'mirror',
    checks,
    mode: 'Continuous',
    publish: { label: 'example.com/mirror' },
    origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
  });
  const probing = (probe: ServiceProbe) => probeCheck('mirror/port', probe);
  const spec = { kind: 'tcp' };

  test('leaves it to the agent where the node is, for what has no pods', () => {
    expect(servicesToProbe([mirror(probing({ spec, port: 80, periodMilliseconds: 200 }))], [])).toEqual([
      { name: 'mirror/port', probe: { kind: 'tcp', port: 80 }, periodMilliseconds: 200 },
    ]);
    expect(servicesToProbe([mirror(probing({ spec, port: 80, host: 'Loopback' }))], [])[0]?.target).toEqual({
      host: 'localhost',
      port: 80,
    });
  });

  test('names no port for what is at a path', () => {
    expect(servicesToProbe([mirror(probing({ spec }))], [])).toStrictEqual([{ name: 'mirror/port', probe: spec }]);
  });

  test('names no address for what is at a path, and asks only where there is a pod of it', () => {
    const csi = { kind: 'csi', socket: '/csi.sock' };
    const driver = mirror(podsCheck('mirror'), probing({ spec: csi }));
    expect(servicesToProbe([driver], [pod('mirror', '10.1.0.1')])).toEqual([{ name: 'mirror/port', probe: csi }]);
    expect(servicesToProbe([driver], [])).toEqual([]);
  });

  test('says when the pod started, where the check depends on it, which makes it another check for the next pod', () => {
    const ready = mirror(podsCheck('mirror'), probing({ spec: { kind: 'file', path: '/ready', newerThan: 'Pod' } }));
    const told = (change: Partial<ObservedPod>) => toProbe([ready], [pod('mirror', '10.1.0.1', change)])[0];
    const [first, next] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'].map((startTime) => told({ startTime }));
    expect(first?.podStart).toBe('2026-01-01T00:00:00Z');
    expect(next?.digest).not.toBe(first?.digest);
    expect(told({ startTime: '' })).toBeUndefined();
    expect(servicesToProbe([ready], [])).toEqual([]);
  });

  test('asks the pod of a DaemonSet, and never a bare one beside it', () => {
    const service = mirror(podsCheck('mirror'), probing({ spec, port: 80 }));
    const bare = pod('mirror', '10.1.0.1');
    const owned = pod('mirror', '10.1.0.2', { daemonSet: 'mirror', ready: false });
    expect(servicesToProbe([service], [bare, owned])[0]?.target?.host).toBe('10.1.0.2');
    expect(servicesToProbe([service], [bare, { ...owned, podIP: '' }])).toEqual([]);
  });

  test('asks the pods of the check that it names, whichever pods are better', () => {
    const service = mirror(
      { ...podsCheck('a'), name: 'a' },
      { ...podsCheck('b'), name: 'b' },
      probing({ spec, port: 80, of: 'b' }),
    );
    const target = (...pods: ObservedPod[]) => servicesToProbe([service], pods)[0]?.target?.host;
    expect(target(pod('a', '10.1.0.1'), pod('b', '10.1.0.2', { ready: false }))).toBe('10.1.0.2');
    expect(target(pod('b', '10.1.0.2'), pod('a', '10.1.0.1'))).toBe('10.1.0.2');
    expect(target(pod('a', '10.1.0.1'))).toBeUndefined();
  });

  test('says nothing of a service that agents are not to ask', () => {
    expect(
      servicesToProbe(
        [mirror({ name: 'registered', id: 's/registered', kind: 'csiNode', settings: { driver: 'ebs' } })],
        [],
      ),
    ).toEqual([]);
  });

  test('names each probe of a service by its check, those within anyOf among them', () => {
    const checks: ServiceCheck[] = [
      podsCheck('mirror'),
      probeCheck('mirror/port', { spec, port: 80 }),
      { name: 'any', kind: 'anyOf', checks: [probeCheck('mirror/any/path', { spec: { kind: 'unix', path: '/a' } })] },
    ];
    const found = servicesToProbe([mirror(...checks)], [pod('mirror', '10.1.0.1')]);
    expect(found).toEqual([
      expect.objectContaining({ name: 'mirror/port', target: { host: '10.1.0.1', port: 80 } }),
      { name: 'mirror/any/path', probe: { kind: 'unix', path: '/a' } },
    ]);
  });

  test('names the address of the target and a few others, however many pods a selector finds', () => {
    const pods = Array.from({ length: 100 }, (_, index) =>
      pod('ws-daemon', `10.1.0.${index}`, { ready: index === 99 }),
    );
    const [service] = servicesToProbe(SERVICES, pods);
    expect(service?.target?.host).toBe('10.1.0.99');
    expect(service?.podAddresses).toHaveLength(POD_ADDRESSES_MAX);
    expect(service?.podAddresses).toContain('10.1.0.99');
  });
});

describe('the digest of a check', () => {
  const digestOf = (name: string, probe: object, pods: ObservedPod[] = []) => {
    const check = probeCheck(name, probe as ServiceProbe);
    const checks = pods.length > 0 ? [podsCheck(name), check] : [check];
    return toProbe([serviceOf(name, { checks })], pods)[0]?.digest;
  };
  const tcp = { spec: { kind: 'tcp' }, port: 80 };
  const http = { spec: { kind: 'http', path: '/' }, port: 80, host: 'Pod' };

  test('is another by name, probe, port, times, thresholds and address', () => {
    const digests = [
      digestOf('a', tcp),
      digestOf('b', tcp),
      digestOf('a', { ...tcp, spec: { kind: 'tls' } }),
      digestOf('a', { ...tcp, port: 81 }),
      digestOf('a', { ...tcp, periodMilliseconds: 10 }),
      digestOf('a', { ...tcp, failureThreshold: 2 }),
      digestOf('a', http, [pod('a', '10.1.0.1')]),
      digestOf('a', http, [pod('a', '10.1.0.2')]),
    ];
    expect(new Set(digests).size).toBe(digests.length);
    for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{16}$/);
  });

  test('is the same for the same check, however often it is made, and whatever other pods are there', () => {
    expect(digestOf('a', structuredClone(tcp))).toBe(digestOf('a', tcp));
    const [first, second] = [pod('a', '10.1.0.1'), pod('a', '10.1.0.2', { ready: false })];
    expect(digestOf('a', http, [first, second])).toBe(digestOf('a', http, [first]));
  });
});
