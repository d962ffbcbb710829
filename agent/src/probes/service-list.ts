import { digestOf } from '@rollcall/common/digest.ts';
import type { ProbeSpec, ServiceToProbe } from '@rollcall/common/report.ts';
import { VERSION } from '@rollcall/common/version.ts';
import type { CaProvider } from './https-agent.ts';
import { PROBE_KINDS } from './kinds.ts';
import { formatTarget } from './probe.ts';
import type { ProbePaths } from './probe-paths.ts';
import type { ServiceSettings } from './service-settings.ts';
import { type Place, refusalOf } from './target-rule.ts';
import type { ProbeAddress, ProbeKind, ProbeTools, ServiceDefinition, Timing } from './types.ts';

/** What the coordinator told of a service; `problem` says what of it cannot be read. */
export type ToldService = Omit<ServiceToProbe, 'digest'> & { digest?: string; problem?: string };

/** A service that is to be watched, or the reason why it cannot be. */
export type WatchedService = (ServiceDefinition | Refused) & {
  /** How it is probed; what is the same text is the same. */
  how: string;
  /** The coordinator's digest of the check. */
  digest?: string;
};

type Refused = { name: string; refusal: string };

export type ServiceListOptions = {
  /** What the agent's own flags say. */
  settings: readonly ServiceSettings[];
  place: Place;
  clock: ProbeTools['clock'];
  /** The CA certificates in a file, for a service. */
  caFrom: (caFile: string, service: string) => CaProvider;
  paths: ProbePaths;
  connect?: ProbeTools['connect'];
};

const TIMING: Timing = { periodMs: 1000, timeoutMs: 1000, failureThreshold: 3, successThreshold: 1 };

/**
 * Makes every service ready to be watched. What the coordinator leaves out is as the agent's own configuration says.
 * What cannot be done, since this agent is older than what it is told or since it may not ask there, is a refusal.
 */
export function watchedServices(told: readonly ToldService[], options: ServiceListOptions): WatchedService[] {
  const own = new Map(options.settings.map((each) => [each.name, each]));
  return told.map((service) => watchedService(service, own.get(service.name), options));
}

function watchedService(
  told: ToldService,
  own: ServiceSettings | undefined,
  options: ServiceListOptions,
): WatchedService {
  const { clock, caFrom, paths, connect } = options;
  const { name } = told;
  const spec = told.probe ?? own?.spec;
  const timing: Timing = {
    periodMs: told.periodMilliseconds ?? own?.periodMs ?? TIMING.periodMs,
    timeoutMs: told.timeoutMilliseconds ?? own?.timeoutMs ?? TIMING.timeoutMs,
    failureThreshold: told.failureThreshold ?? own?.failureThreshold ?? TIMING.failureThreshold,
    successThreshold: told.successThreshold ?? own?.successThreshold ?? TIMING.successThreshold,
  };
  // A path on this machine is for its own configuration to name.
  const caFile = told.probe ? undefined : own?.caFile;
  const how = digestOf({ spec, caFile, ...timing });
  const watched = { name, how, ...(told.digest === undefined ? {} : { digest: told.digest }) };
  if (told.problem !== undefined) return { ...watched, refusal: told.problem };
  if (!spec) return { ...watched, refusal: 'neither the coordinator nor the flags of the agent define a probe' };
  const kind = PROBE_KINDS.find((each) => each.kind === spec.kind);
  if (!kind) return { ...watched, refusal: `version ${VERSION} of the agent has no probe of the kind ${spec.kind}` };
  const ca = caFile === undefined ? undefined : caFrom(caFile, name);
  const openLine = kind.prepare(spec, { clock, ca, paths, connect });
  if (typeof openLine === 'string') return { ...watched, refusal: openLine };
  const target = addressOf(kind, spec, told, own, options);
  return typeof target === 'string' ? { ...watched, refusal: target } : { ...watched, ...timing, openLine, target };
}

/** Where a service is asked; a string says why it is not. */
function addressOf(
  kind: ProbeKind,
  spec: ProbeSpec,
  told: ToldService,
  own: ServiceSettings | undefined,
  { place, paths }: ServiceListOptions,
): ProbeAddress | string {
  const path = kind.pathOf?.(spec);
  if (path !== undefined) return paths.refusalOf(path) ?? { path: String(path) };
  const { port = own?.port } = spec;
  if (port !== undefined && !isPort(port)) return 'its port is not valid';
  const target = told.target ?? (port === undefined ? undefined : { host: place.hostIp, port });
  if (!target) return 'no target is known';
  const refusal = refusalOf(target, told.podAddresses ?? [], place);
  return refusal === undefined ? target : `not at ${formatTarget(target)}: ${refusal}`;
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;
}
