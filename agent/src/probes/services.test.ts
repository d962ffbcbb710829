import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineServices, type ServicesConfig, type WsDaemonProbe } from './services.ts';
import { UNRELATED_CERTIFICATE } from './testing/certificates.ts';
import { within } from './testing/limits.ts';
import { createService, listenOnLoopback } from './testing/servers.ts';
import type { ServiceDefinition } from './types.ts';

const CONFIG: ServicesConfig = {
  hostIp: '127.0.0.1',
  wsDaemonPort: 8080,
  registryFacadePort: 31_750,
  wsDaemonProbe: 'tcp',
  probePeriodMs: 1000,
  probeTimeoutMs: 900,
  failureThreshold: 3,
  successThreshold: 2,
};

function define(config: Partial<ServicesConfig>): Record<string, ServiceDefinition> {
  return Object.fromEntries(defineServices({ ...CONFIG, ...config }, systemClock).map((each) => [each.name, each]));
}

describe('defineServices', () => {
  it('names both services with their addresses, times and thresholds', () => {
    const rest = { periodMs: 1000, timeoutMs: 900, failureThreshold: 3, successThreshold: 2 };
    expect(defineServices(CONFIG, systemClock)).toMatchObject([
      { name: 'ws-daemon', defaultTarget: { host: '127.0.0.1', port: 8080 }, ...rest },
      { name: 'registry-facade', defaultTarget: { host: '127.0.0.1', port: 31_750 }, ...rest },
    ]);
  });

  it.each<WsDaemonProbe>(['tcp', 'tls', 'http2'])('asks ws-daemon by %s when told so', async (kind) => {
    const server = await listenOnLoopback(createService(kind));
    onTestFinished(server.close);
    const result = await define({ wsDaemonProbe: kind })['ws-daemon']?.probe(server, within(5000));
    expect(result).toMatchObject({ verdict: 'healthy' });
    expect(result?.evidence).toMatch(new RegExp(`^${kind} `));
  });

  it('verifies registry-facade only against a CA that it was given', async () => {
    const server = await listenOnLoopback(createService('https'));
    onTestFinished(server.close);
    const verdictWith = async (config: Partial<ServicesConfig>) =>
      (await define(config)['registry-facade']?.probe(server, within(5000)))?.verdict;
    expect(await verdictWith({})).toBe('healthy');
    expect(await verdictWith({ registryFacadeCa: () => Buffer.from(UNRELATED_CERTIFICATE) })).toBe('soft');
  });
});
