import { isSubdomain } from '@rollcall/common/config/checks.ts';
import type { ProbeSpec, ProbeTarget } from '@rollcall/common/report.ts';
import type { ToldService } from '../probes/service-list.ts';

/** As many as fit into a report. */
const SERVICES_MAX = 256;
const PERIOD_MS = { min: 10, max: 3_600_000 };
const THRESHOLD = { min: 1, max: 1000 };

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads the services that a reply tells to probe. One that cannot be read is told apart by its `problem`, and does not
 * cost the others; one without a name, and a name that comes again, are left out.
 */
export function readServices(entries: readonly unknown[], caBundles: JsonObject): ToldService[] {
  const services = new Map<string, ToldService>();
  for (const entry of entries.slice(0, SERVICES_MAX)) {
    if (!isObject(entry)) continue;
    const { name } = entry;
    if (typeof name !== 'string' || !isSubdomain(name) || services.has(name)) continue;
    services.set(name, readService(name, entry, caBundles));
  }
  return [...services.values()];
}

function readService(name: string, entry: JsonObject, caBundles: JsonObject): ToldService {
  const { digest } = entry;
  const told: ToldService = { name, ...(isDigest(digest) ? { digest } : {}) };
  const identity = { ...told };
  const problem = (field: string): ToldService => ({
    ...identity,
    problem: `the coordinator sent a ${field} that cannot be read`,
  });
  const { probe, caBundle, target, podAddresses } = entry;
  if (!isProbe(probe)) return problem('probe');
  told.probe = probe;
  if (caBundle !== undefined) {
    const text = typeof caBundle === 'string' && Object.hasOwn(caBundles, caBundle) ? caBundles[caBundle] : undefined;
    if (typeof text !== 'string') return problem('caBundle');
    told.probe = { ...probe, caBundle: text };
  }
  if (target !== undefined) {
    if (!isTarget(target)) return problem('target');
    told.target = { host: target.host, port: target.port };
  }
  if (podAddresses !== undefined) {
    if (!isTexts(podAddresses)) return problem('podAddresses');
    told.podAddresses = podAddresses;
  }
  for (const [field, range] of [
    ['periodMilliseconds', PERIOD_MS],
    ['timeoutMilliseconds', PERIOD_MS],
    ['failureThreshold', THRESHOLD],
    ['successThreshold', THRESHOLD],
  ] as const) {
    const value = entry[field];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isInteger(value)) return problem(field);
    told[field] = Math.min(range.max, Math.max(range.min, value));
  }
  return told;
}

export function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** What goes into reports has the length that reports may have. */
export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= 128;
}

function isTarget(value: unknown): value is ProbeTarget {
  if (!isObject(value)) return false;
  const { host, port } = value;
  if (typeof host !== 'string' || host === '' || host.length > 253) return false;
  return typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function isProbe(value: unknown): value is ProbeSpec {
  return isObject(value) && typeof value['kind'] === 'string' && value['kind'].length <= 63;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
