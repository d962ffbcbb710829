import type { Clock } from '@rollcall/common/clock.ts';
import { createHttpProbe, createHttpsProbe } from './http-probe.ts';
import { createHttp2Probe } from './http2-probe.ts';
import type { CaProvider } from './https-agent.ts';
import { createRegistryFacadeProbe } from './registry-facade-probe.ts';
import { createTcpProbe } from './tcp-probe.ts';
import { createTlsProbe } from './tls-probe.ts';
import type { Probe, ServiceDefinition } from './types.ts';

/** How to ask a service for a sign of life. */
export type ProbeKind = 'tcp' | 'tls' | 'http2' | 'http' | 'https';

/** A service of the node as it is configured. */
export type ServiceSettings = Omit<ServiceDefinition, 'defaultTarget' | 'probe'> & {
  port: number;
  /** Absent for registry-facade, which is asked in a way of its own. */
  probe?: ProbeKind;
  /** For http and https; `/` unless told. */
  path?: string;
  /** For http and https; 200 unless told. */
  expectedStatus?: number;
  /** For https and registry-facade. Without it, certificates are not verified. */
  caFile?: string;
};

export type ProbeTools = {
  clock: Clock;
  /** The CA certificates in a file, for a service. */
  caFrom: (caFile: string, service: string) => CaProvider;
};

/** Makes every service ready to be watched, at the address of the node until the coordinator names a better one. */
export function defineServices(
  services: readonly ServiceSettings[],
  hostIp: string,
  tools: ProbeTools,
): ServiceDefinition[] {
  return services.map((service) => ({
    name: service.name,
    defaultTarget: { host: hostIp, port: service.port },
    probe: createProbeFor(service, tools),
    periodMs: service.periodMs,
    timeoutMs: service.timeoutMs,
    failureThreshold: service.failureThreshold,
    successThreshold: service.successThreshold,
  }));
}

function createProbeFor(service: ServiceSettings, { clock, caFrom }: ProbeTools): Probe {
  const { name, probe, path = '/', expectedStatus = 200, caFile } = service;
  const ca = caFile === undefined ? undefined : caFrom(caFile, name);
  if (probe === undefined) return createRegistryFacadeProbe(clock, ca);
  switch (probe) {
    case 'tcp':
      return createTcpProbe(clock);
    case 'tls':
      return createTlsProbe(clock);
    case 'http2':
      return createHttp2Probe(clock);
    case 'http':
      return createHttpProbe(clock, { path, expectedStatus });
    case 'https':
      return createHttpsProbe(clock, { path, expectedStatus }, ca);
  }
}
