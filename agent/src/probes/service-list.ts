import { digestOf } from '@rollcall/common/digest.ts';
import type { ProbeSpec, ServiceToProbe } from '@rollcall/common/report.ts';
import { readProbe } from './kinds.ts';
import { LOOPBACK_HOST, loopbackLine } from './loopback-line.ts';
import { formatTarget } from './probe.ts';
import type { ProbePaths } from './probe-paths.ts';
import { type AddressRules, refusalOf } from './target-rule.ts';
import type { OpenLine, ProbeAddress, ProbeKind, ProbeTools, ServiceDefinition, Timing } from './types.ts';

/** A service from the coordinator's list; `problem` says what of it cannot be read. */
export type ToldService = Omit<ServiceToProbe, 'probe'> & { probe?: ProbeSpec; problem?: string };

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
export function watchedServices(told: readonly ToldService[], options: ServiceListOptions): WatchedService[] {
  return options.tlsContexts.renew(() => told.map((service) => watchedService(service, options)));
}

function watchedService(told: ToldService, options: ServiceListOptions): WatchedService {
  const { timing: own, openLine: opened, ...tools } = options;
  const { name, digest, probe: spec, podStart } = told;
  const timing: Timing = {
    periodMs: told.periodMilliseconds ?? own.periodMs,
    ...(told.periodMilliseconds === undefined && own.idlePeriodMs ? { idlePeriodMs: own.idlePeriodMs } : {}),
    timeoutMs: told.timeoutMilliseconds ?? own.timeoutMs,
    failureThreshold: told.failureThreshold ?? own.failureThreshold,
    successThreshold: told.successThreshold ?? own.successThreshold,
  };
  const how = digestOf({ spec, podStart, ...timing });
  const watched = { name, how, digest };
  if (told.problem !== undefined) return { ...watched, refusal: told.problem };
  const probe = readProbe(spec);
  if (typeof probe === 'string') return { ...watched, refusal: probe };
  const openLine = (spec && opened?.(spec)) ?? probe.kind.prepare(probe.settings, { ...tools, podStart });
  if (typeof openLine === 'string') return { ...watched, refusal: openLine };
  const target = addressOf(probe, told, options);
  if (typeof target === 'string') return { ...watched, refusal: target };
  const isLoopback = 'host' in target && target.host === LOOPBACK_HOST;
  return { ...watched, ...timing, openLine: isLoopback ? loopbackLine(openLine) : openLine, target };
}

/** Returns the target of a probe; a string says why there is none. */
function addressOf(
  { kind, settings }: { kind: ProbeKind; settings: { port?: number } },
  told: ToldService,
  { place, paths }: ServiceListOptions,
): ProbeAddress | string {
  const path = kind.pathOf?.(settings);
  if (path !== undefined) return paths.refusalOf(path) ?? { path };
  if (kind.addressOf) return kind.addressOf(settings, place);
  const { port } = settings;
  const target = told.target ?? (port === undefined ? undefined : { host: place.hostIp, port });
  if (!target) return 'no target is known';
  const refusal = refusalOf(target, told.podAddresses ?? [], place);
  return refusal === undefined ? target : `not at ${formatTarget(target)}: ${refusal}`;
}
