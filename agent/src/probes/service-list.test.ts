import { systemClock } from '@rollcall/common/clock.ts';
import type { ProbeSpec, ServiceToProbe } from '@rollcall/common/report.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { type AssignedService, watchedServices } from './service-list.ts';
import { ROOT_CERTIFICATE, UNRELATED_CERTIFICATE } from './testing/certificates.ts';
import { within } from './testing/limits.ts';
import { createService, listenOnLoopback, type ServiceKind } from './testing/servers.ts';
import { TlsContexts } from './tls-contexts.ts';

const TIMING = { periodMs: 1000, timeoutMs: 900, failureThreshold: 3, successThreshold: 2 };
const TCP = { kind: 'tcp' };
const HERE = '127.0.0.1';

function listOf(assigned: AssignedService[], hostIp = HERE) {
  return watchedServices(assigned, {
    timing: TIMING,
    place: { hostIp, ownAddresses: [], ownPort: Number.NaN },
    clock: systemClock,
    paths: new ProbePaths(['/run']),
    tlsContexts: new TlsContexts(),
  });
}

/** Asks a server of this kind once, as an agent does that was assigned this probe. */
async function ask(kind: ServiceKind, probe: ProbeSpec) {
  const server = await listenOnLoopback(createService(kind));
  onTestFinished(server.close);
  const target = { host: server.host, port: server.port };
  const [service] = listOf([{ name: 'x', digest: 'd', probe, target }]);
  if (!service || 'refusal' in service) throw new Error(service?.refusal);
  const line = service.openLine(() => {});
  onTestFinished(() => line.release());
  return line.ask(service.target, within(5000), true);
}

describe('what only an agent in the pod network can tell', () => {
  const apiServer = { host: '10.96.0.1', port: 443 };
  const placed = (kind: string, place: object) =>
    watchedServices([{ name: 'x', digest: 'd', probe: { kind } }], {
      timing: TIMING,
      place: { hostIp: '10.0.0.7', ownAddresses: ['127.0.0.1', '10.1.2.3'], ownPort: Number.NaN, ...place },
      clock: systemClock,
      paths: new ProbePaths([]),
      tlsContexts: new TlsContexts(),
    })[0];

  it('is asked where it is the same for every pod, whatever the coordinator says of addresses', () => {
    expect(placed('kubernetesService', { apiServer })).toMatchObject({ target: apiServer });
    expect(placed('dns', {})).toMatchObject({ target: { name: 'kubernetes.default.svc' } });
  });

  it.each(['dns', 'kubernetesService'])('is refused on the network of the host: %s', (kind) => {
    const place = { ownAddresses: ['127.0.0.1', '10.0.0.7'], apiServer };
    expect(placed(kind, place)).toMatchObject({ refusal: expect.stringContaining('agent.hostNetwork=false') });
  });

  it('is refused where the kubelet does not say where the API server is', () => {
    expect(placed('kubernetesService', {})).toMatchObject({
      refusal: expect.stringContaining('KUBERNETES_SERVICE_HOST'),
    });
  });
});

describe('what an agent watches', () => {
  it('has the times and thresholds of the flags, at the address of the node, where nothing else was told', () => {
    expect(listOf([{ name: 'x', digest: 'd', probe: { ...TCP, port: 8080 } }], '10.0.0.7')).toMatchObject([
      { name: 'x', target: { host: '10.0.0.7', port: 8080 }, ...TIMING },
    ]);
  });

  it('is where and how it was told', () => {
    const assigned: ServiceToProbe = {
      name: 'cache',
      digest: 'd',
      probe: { kind: 'tcp' },
      target: { host: '10.1.2.3', port: 1 },
      podAddresses: ['10.1.2.3'],
      periodMilliseconds: 11,
      timeoutMilliseconds: 12,
      failureThreshold: 13,
      successThreshold: 14,
    };
    const timing = { periodMs: 11, timeoutMs: 12, failureThreshold: 13, successThreshold: 14 };
    expect(listOf([assigned])).toMatchObject([{ name: 'cache', digest: 'd', target: assigned.target, ...timing }]);
  });

  it.each<[string, AssignedService, RegExp]>([
    [
      'of a kind that it does not know',
      { name: 'x', digest: 'd', probe: { kind: 'icmp' } },
      /^version \S+ of the agent has no .* icmp$/,
    ],
    [
      'of a kind that is no kind',
      { name: 'x', digest: 'd', probe: { kind: 'toString' } },
      /no probe of the kind toString$/,
    ],
    ['without a target', { name: 'x', digest: 'd', probe: { kind: 'tcp' } }, /^no target is known$/],
    [
      'elsewhere',
      { name: 'x', digest: 'd', probe: TCP, target: { host: '10.9.9.9', port: 1 } },
      /^not at 10\.9\.9\.9:1: it belongs neither/,
    ],
    ['with a path that is none', { name: 'ws-daemon', digest: 'd', probe: { kind: 'http', path: 'x y' } }, /path/],
    [
      'with statuses that are none',
      { name: 'ws-daemon', digest: 'd', probe: { kind: 'http', expectedStatuses: ['9'] } },
      /expectedStatuses/,
    ],
    ['at a port that is none', { name: 'x', digest: 'd', probe: { kind: 'tcp', port: 0 } }, /^its port is not valid$/],
    [
      'at a socket elsewhere',
      { name: 'x', digest: 'd', probe: { kind: 'csi', socket: '/etc/x' } },
      /^not at \/etc\/x: --probe-paths/,
    ],
    [
      'at a file by way of ..',
      { name: 'x', digest: 'd', probe: { kind: 'file', path: '/run/../etc/x' } },
      /^its path is not/,
    ],
    [
      'at no socket',
      { name: 'x', digest: 'd', probe: { kind: 'csi' }, target: { host: HERE, port: 1 } },
      /^its socket is not/,
    ],
    ['at no path', { name: 'x', digest: 'd', probe: { kind: 'unix' } }, /^its path is not/],
    [
      'with a CA that is none',
      { name: 'x', digest: 'd', probe: { kind: 'https', port: 1, caBundle: 'LS0t' } },
      /caBundle contains no/,
    ],
    [
      'with headers that are none',
      { name: 'ws-daemon', digest: 'd', probe: { kind: 'http', headers: { 'a\n': 'b' } } },
      /headers/,
    ],
    ['that cannot be read', { name: 'ws-daemon', digest: 'd', problem: 'no' }, /^no$/],
  ])('is refused, and costs the others nothing: a service %s', (_, assigned, reason) => {
    const [first, second] = listOf([assigned, { name: 'cache', digest: 'd', probe: { ...TCP, port: 9000 } }]);
    if (first && !('refusal' in first)) throw new Error('It was not refused');
    expect(second).toHaveProperty('target');
    expect(first?.refusal).toMatch(reason);
  });

  it('is at the port of the probe where it was told no address, and at a path whatever address it was told', () => {
    const target = { host: HERE, port: 5 };
    const assigned: AssignedService[] = [
      { name: 'a', digest: 'd', probe: { kind: 'grpc', port: 7 } },
      { name: 'b', digest: 'd', probe: { kind: 'grpc', port: 7 }, target },
      { name: 'c', digest: 'd', probe: { kind: 'grpc', socket: '/run/c' }, target },
      { name: 'd', digest: 'd', probe: { kind: 'csi', socket: '/run/d' } },
      { name: 'e', digest: 'd', probe: { kind: 'unix', path: '/run/e' } },
      { name: 'f', digest: 'd', probe: { kind: 'file', path: '/run/f', maxAge: '5s' } },
    ];
    const targets = listOf(assigned).map((each) => ('refusal' in each ? each.refusal : each.target));
    expect(targets).toEqual([
      { host: HERE, port: 7 },
      target,
      ...['/run/c', '/run/d', '/run/e', '/run/f'].map((path) => ({ path })),
    ]);
  });

  it('may be at any port that there is', () => {
    const at = (port: unknown) => listOf([{ name: 'x', digest: 'd', probe: { kind: 'tcp', port } as ProbeSpec }])[0];
    for (const port of [1, 65_535]) expect(at(port)).toMatchObject({ target: { host: HERE, port } });
    for (const port of [0, 65_536, 80.5, '80']) expect(at(port)).toMatchObject({ refusal: 'its port is not valid' });
  });
});

describe('how a service is asked', () => {
  it.each<[ServiceKind, ProbeSpec]>([
    ['tcp', { kind: 'tcp' }],
    ['tls', { kind: 'tls' }],
    ['http2', { kind: 'http2' }],
    ['http', { kind: 'http', path: '/x', expectedStatuses: ['200-299', '404'] }],
    ['https', { kind: 'https', headers: { accept: '*/*' }, expectedStatuses: ['400-499'] }],
  ])('is as it was assigned: %s', async (kind, probe) => {
    const evidence = expect.stringMatching(new RegExp(`^${kind} `));
    expect(await ask(kind, probe)).toMatchObject({ verdict: 'healthy', evidence });
  });

  it('expects 200 of HTTP by default', async () => {
    expect(await ask('http', { kind: 'http' })).toMatchObject({
      verdict: 'soft',
      evidence: expect.stringContaining('answered 404, 200 was expected'),
    });
  });

  it.each(['utf8', 'base64'] as const)(
    'verifies a service only against a CA that it was told, in %s',
    async (encoding) => {
      const verdict = async (pem?: string) => {
        const caBundle = pem === undefined ? {} : { caBundle: Buffer.from(pem).toString(encoding) };
        return (await ask('https', { kind: 'https', expectedStatuses: ['404'], ...caBundle })).verdict;
      };
      expect(await verdict()).toBe('healthy');
      expect(await verdict(ROOT_CERTIFICATE)).toBe('healthy');
      expect(await verdict(UNRELATED_CERTIFICATE)).toBe('soft');
    },
  );
});
