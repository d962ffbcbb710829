import { configInvalid } from '@rollcall/common/config/load.ts';
import type { OptionValues } from '@rollcall/common/config/option.ts';
import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { AGENT_OPTIONS } from './options.ts';
import type { ServiceSettings } from './probes/services.ts';

type Values = OptionValues<typeof AGENT_OPTIONS>;
/** Who says the same in two places is not told which of them counts. */
const FLAGS: Readonly<Record<string, Partial<Record<keyof ServiceSettings, string>>>> = {
  [WS_DAEMON]: { port: '--ws-daemon-port', probe: '--ws-daemon-probe' },
  [REGISTRY_FACADE]: { port: '--registry-facade-port', caFile: '--registry-facade-ca-file' },
};

type Problem = { field: keyof ServiceSettings; problem: string };

/**
 * Every service of the node, each with all that flags and defaults say about it: those of Gitpod, as the entries with
 * their names in the configuration file change them, then those that only the file knows.
 * Throws CONFIG_INVALID for what does not go together.
 */
export function resolveServices(values: Values): ServiceSettings[] {
  const timing = {
    periodMs: values.probePeriodMs,
    timeoutMs: values.probeTimeoutMs,
    failureThreshold: values.failureThreshold,
    successThreshold: values.successThreshold,
  };
  const caFile = values.registryFacadeCaFile;
  const services = new Map<string, ServiceSettings>([
    [WS_DAEMON, { name: WS_DAEMON, port: values.wsDaemonPort, probe: values.wsDaemonProbe, ...timing }],
    [
      REGISTRY_FACADE,
      {
        name: REGISTRY_FACADE,
        port: values.registryFacadePort,
        ...(caFile === undefined ? {} : { caFile }),
        ...timing,
      },
    ],
  ]);
  for (const [index, entry] of values.services.entries()) {
    const place = `${values.config}: services[${index}]`;
    const known = services.get(entry.name);
    for (const [field, flag] of Object.entries(FLAGS[entry.name] ?? {})) {
      if (field in entry) throw configInvalid(`${place}.${field}`, `is what ${flag} is for: leave it out`);
    }
    const { port = known?.port } = entry;
    if (port === undefined) throw configInvalid(`${place}.port`, `is required, as ${entry.name} has none of its own`);
    const service: ServiceSettings = {
      ...(known ?? { name: entry.name, port, probe: 'tcp', ...timing }),
      ...entry,
      port,
    };
    const found = problemOf(service);
    if (found) throw configInvalid(`${place}.${found.field}`, found.problem);
    services.set(entry.name, service);
  }
  return [...services.values()];
}

/** What a service was given that the way in which it is asked has no use for. */
function problemOf({ name, probe, path, expectedStatus, caFile }: ServiceSettings): Problem | undefined {
  if (name === REGISTRY_FACADE && probe !== undefined) {
    return { field: 'probe', problem: `${name} is asked in a way of its own: leave it out` };
  }
  const usesHttp = probe === 'http' || probe === 'https';
  const fix = `for ${name}, which is asked by ${probe ?? 'a way of its own'}: leave it out`;
  if (path !== undefined && !usesHttp) return { field: 'path', problem: `has no use ${fix}` };
  if (expectedStatus !== undefined && !usesHttp) return { field: 'expectedStatus', problem: `has no use ${fix}` };
  const usesTls = probe === 'https' || probe === undefined;
  return caFile !== undefined && !usesTls ? { field: 'caFile', problem: `has no use ${fix}` } : undefined;
}
