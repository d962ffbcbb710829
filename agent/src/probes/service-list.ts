import { digestOf } from '@rollcall/common/digest.ts';
import type { ProbeSpec, ServiceToProbe } from '@rollcall/common/report.ts';
import { readProbe } from './kinds.ts';
import { LOOPBACK_HOST, loopbackLine } from './loopback-line.ts';
import { formatTarget } from './probe.ts';
import type { ProbePaths } from './probe-paths.ts';
import { type AddressRules, refusalOf } from './target-rule.ts';
import type { OpenLine, ProbeAddress, ProbeKind, ProbeTools, ServiceDefinition, Timing } from './types.ts';

/** A service from the coordinator's list; `problem` says what of it cannot be read. */
export type AssignedService = Omit<ServiceToProbe, 'probe'> & { probe?: ProbeSpec; problem?: string };

/** A service that is to be watched, or the reason why it cannot be. */
export type WatchedService = (ServiceDefinition | Refused) & {
  /** How it is probed; what is the same text is the same. */
  how: string;
  /** The coordinator's digest of the check. */
  digest: string;
};

type Refused = { name: string; refusal: string };

export type ServiceListOptions = {
  /** Applies where the coordinator sends no other. */
  timing: Timing;
  place: AddressRules;
  clock: ProbeTools['clock'];
  paths: ProbePaths;
  tlsContexts: ProbeTools['tlsContexts'];
  connect?: ProbeTools['connect'];
  /** Takes the place of a probe that needs more than `connect`; `undefined` for the others. */
  openLine?: ((probe: ProbeSpec) => OpenLine | undefined) | undefined;
};

/**
 * Makes every service ready to be watched. A service that this agent cannot probe, since the agent is older than the list
 * or may not connect there, is a refusal.
 */
export function watchedServices(assigned: readonly AssignedService[], options: ServiceListOptions): WatchedService[] {
  return options.tlsContexts.renew(() => assigned.map((service) => watchedService(service, options)));
}

function watchedService(assigned: AssignedService, options: ServiceListOptions): WatchedService {
  const { timing: own, openLine: opened, ...tools } = options;
  const { name, digest, probe: spec, podStart } = assigned;
  const timing: Timing = {
    periodMs: assigned.periodMilliseconds ?? own.periodMs,
    ...(assigned.periodMilliseconds === undefined && own.idlePeriodMs ? { idlePeriodMs: own.idlePeriodMs } : {}),
    timeoutMs: assigned.timeoutMilliseconds ?? own.timeoutMs,
    failureThreshold: assigned.failureThreshold ?? own.failureThreshold,
    successThreshold: assigned.successThreshold ?? own.successThreshold,
  };
  const how = digestOf({ spec, podStart, ...timing });
  const watched = { name, how, digest };
  if (assigned.problem !== undefined) return { ...watched, refusal: assigned.problem };
  const probe = readProbe(spec);
  if (typeof probe === 'string') return { ...watched, refusal: probe };
  const openLine = (spec && opened?.(spec)) ?? probe.kind.prepare(probe.settings, { ...tools, podStart });
  if (typeof openLine === 'string') return { ...watched, refusal: openLine };
  const target = addressOf(probe, assigned, options);
  if (typeof target === 'string') return { ...watched, refusal: target };
  const isLoopback = 'host' in target && target.host === LOOPBACK_HOST;
  return { ...watched, ...timing, openLine: isLoopback ? loopbackLine(openLine) : openLine, target };
}

/** Returns the target of a probe; a string says why there is none. */
function addressOf(
  { kind, settings }: { kind: ProbeKind; settings: { port?: number } },
  assigned: AssignedService,
  { place, paths }: ServiceListOptions,
): ProbeAddress | string {
  const path = kind.pathOf?.(settings);
  if (path !== undefined) return paths.refusalOf(path) ?? { path };
  if (kind.addressOf) return kind.addressOf(settings, place);
  const { port } = settings;
  const target = assigned.target ?? (port === undefined ? undefined : { host: place.hostIp, port });
  if (!target) return 'no target is known';
  const refusal = refusalOf(target, assigned.podAddresses ?? [], place);
  return refusal === undefined ? target : `not at ${formatTarget(target)}: ${refusal}`;
}
