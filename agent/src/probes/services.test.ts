import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineServices, type ProbeKind, type ServiceSettings } from './services.ts';
import { ROOT_CERTIFICATE, UNRELATED_CERTIFICATE } from './testing/certificates.ts';
import { within } from './testing/limits.ts';
import { createService, listenOnLoopback, type ServiceKind } from './testing/servers.ts';

const TIMING = { periodMs: 1000, timeoutMs: 900, failureThreshold: 3, successThreshold: 2 };
const CA_FILES: Record<string, string> = { '/ca/root': ROOT_CERTIFICATE, '/ca/unrelated': UNRELATED_CERTIFICATE };

function define(services: ServiceSettings[], hostIp = '127.0.0.1') {
  const caFrom = (path: string) => () => Buffer.from(CA_FILES[path] ?? '');
  return defineServices(services, hostIp, { clock: systemClock, caFrom });
}

async function ask(kind: ServiceKind, how: Partial<ServiceSettings>) {
  const server = await listenOnLoopback(createService(kind));
  onTestFinished(server.close);
  const [definition] = define([{ name: 'x', port: server.port, ...TIMING, ...how }]);
  return definition?.probe(server, within(5000));
}

describe('defineServices', () => {
  it('gives each service its address, times and thresholds', () => {
    const other = { periodMs: 1, timeoutMs: 2, failureThreshold: 4, successThreshold: 5 };
    const services: ServiceSettings[] = [
      { name: 'ws-daemon', port: 8080, probe: 'tcp', ...TIMING },
      { name: 'cache', port: 9000, probe: 'http', ...other },
    ];
    expect(define(services, '10.0.0.7')).toEqual([
      { name: 'ws-daemon', defaultTarget: { host: '10.0.0.7', port: 8080 }, probe: expect.any(Function), ...TIMING },
      { name: 'cache', defaultTarget: { host: '10.0.0.7', port: 9000 }, probe: expect.any(Function), ...other },
    ]);
  });

  it.each<[ProbeKind, ServiceKind, Partial<ServiceSettings>]>([
    ['tcp', 'tcp', {}],
    ['tls', 'tls', {}],
    ['http2', 'http2', {}],
    ['http', 'http', { expectedStatus: 404 }],
    ['https', 'https', { expectedStatus: 404 }],
  ])('asks by %s when told so', async (probe, kind, how) => {
    const result = await ask(kind, { probe, ...how });
    expect(result).toMatchObject({ verdict: 'healthy', evidence: expect.stringMatching(new RegExp(`^${probe} `)) });
  });

  it('expects 200 of HTTP unless told otherwise', async () => {
    expect(await ask('http', { probe: 'http' })).toMatchObject({
      verdict: 'soft',
      evidence: expect.stringContaining('answered 404, 200 was expected'),
    });
  });

  it.each<[string, Partial<ServiceSettings>]>([
    ['registry-facade', {}],
    ['a service that is asked by https', { probe: 'https', expectedStatus: 404 }],
  ])('verifies %s only against a CA that it was given', async (_what, how) => {
    expect(await ask('https', how)).toMatchObject({ verdict: 'healthy' });
    expect(await ask('https', { ...how, caFile: '/ca/root' })).toMatchObject({ verdict: 'healthy' });
    expect(await ask('https', { ...how, caFile: '/ca/unrelated' })).toMatchObject({ verdict: 'soft' });
  });
});
