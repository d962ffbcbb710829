import type { OptionValues } from '@rollcall/common/config/option.ts';
import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { AGENT_OPTIONS } from './options.ts';
import { REGISTRY_FACADE_PROBE, type ServiceSettings } from './probes/service-settings.ts';

type Values = OptionValues<typeof AGENT_OPTIONS>;

/** The services of Gitpod as the flags say. All others are told by the coordinator. */
export function gitpodSettings(values: Values): ServiceSettings[] {
  const timing = {
    periodMs: values.probePeriodMs,
    timeoutMs: values.probeTimeoutMs,
    failureThreshold: values.failureThreshold,
    successThreshold: values.successThreshold,
  };
  const { wsDaemonPort, wsDaemonProbe, registryFacadePort, registryFacadeCaFile: caFile } = values;
  return [
    { name: WS_DAEMON, port: wsDaemonPort, spec: { kind: wsDaemonProbe }, ...timing },
    {
      name: REGISTRY_FACADE,
      port: registryFacadePort,
      spec: REGISTRY_FACADE_PROBE,
      ...(caFile === undefined ? {} : { caFile }),
      ...timing,
    },
  ];
}
