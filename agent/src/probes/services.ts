import type { Clock } from '@rollcall/common/clock.ts';
import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import { createHttp2Probe } from './http2-probe.ts';
import { type CaProvider, createRegistryFacadeProbe } from './registry-facade-probe.ts';
import { createTcpProbe } from './tcp-probe.ts';
import { createTlsProbe } from './tls-probe.ts';
import type { Probe, ServiceDefinition } from './types.ts';

/** How to ask ws-daemon for a sign of life. */
export type WsDaemonProbe = 'tcp' | 'tls' | 'http2';

export type ServicesConfig = {
  /** Where both services are probed until the coordinator names better addresses. */
  hostIp: string;
  wsDaemonPort: number;
  registryFacadePort: number;
  wsDaemonProbe: WsDaemonProbe;
  /** Absent: registry-facade's certificate is not verified. */
  registryFacadeCa?: CaProvider;
  probePeriodMs: number;
  probeTimeoutMs: number;
  failureThreshold: number;
  successThreshold: number;
};

const WS_DAEMON_PROBES = {
  tcp: createTcpProbe,
  tls: createTlsProbe,
  http2: createHttp2Probe,
} as const satisfies Record<WsDaemonProbe, (clock: Clock) => Probe>;

/** Every service that the agent watches. A new one is added here. */
export function defineServices(config: ServicesConfig, clock: Clock): ServiceDefinition[] {
  const timing = {
    periodMs: config.probePeriodMs,
    timeoutMs: config.probeTimeoutMs,
    failureThreshold: config.failureThreshold,
    successThreshold: config.successThreshold,
  };
  return [
    {
      name: WS_DAEMON,
      defaultTarget: { host: config.hostIp, port: config.wsDaemonPort },
      probe: WS_DAEMON_PROBES[config.wsDaemonProbe](clock),
      ...timing,
    },
    {
      name: REGISTRY_FACADE,
      defaultTarget: { host: config.hostIp, port: config.registryFacadePort },
      probe: createRegistryFacadeProbe(clock, config.registryFacadeCa),
      ...timing,
    },
  ];
}
