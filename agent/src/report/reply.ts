import { parseJson } from '@rollcall/common/parse-json.ts';
import { isProbeName, type ProbeSpec, type ProbeTarget } from '@rollcall/common/report.ts';
import { PROBE_PERIOD_MS_MIN, PROBE_TIME_MS_MAX } from '@rollcall/common/well-known.ts';
import type { AssignedService } from '../probes/service-list.ts';

/** As many as fit into a report. */
const SERVICES_MAX = 256;
const PERIOD_MS = { min: PROBE_PERIOD_MS_MIN, max: PROBE_TIME_MS_MAX };
const TIMEOUT_MS = { ...PERIOD_MS, min: 10 };
const THRESHOLD = { min: 1, max: 1000 };

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads the services that a reply tells to probe. One that cannot be read is told apart by its `problem`, and does not
 * cost the others. Entries without a name or digest, which no verdict could name, and repeated names are left out.
 */
function readServices(entries: readonly unknown[], caBundles: JsonObject): AssignedService[] {
  const services = new Map<string, AssignedService>();
  for (const entry of entries.slice(0, SERVICES_MAX)) {
    if (!isObject(entry)) continue;
    const { name, digest } = entry;
    if (typeof name !== 'string' || !isProbeName(name) || !isDigest(digest) || services.has(name)) continue;
    services.set(name, readService({ name, digest }, entry, caBundles));
  }
  return [...services.values()];
}

function readService(
  identity: Pick<AssignedService, 'name' | 'digest'>,
  entry: JsonObject,
  caBundles: JsonObject,
): AssignedService {
  const assigned: AssignedService = { ...identity };
  const problem = (field: string): AssignedService => ({
    ...identity,
    problem: `the coordinator sent a ${field} that cannot be read`,
  });
  const { probe, caBundle, target, podAddresses, podStart } = entry;
  if (!isProbe(probe)) return problem('probe');
  assigned.probe = probe;
  if (caBundle !== undefined) {
    const text = typeof caBundle === 'string' && Object.hasOwn(caBundles, caBundle) ? caBundles[caBundle] : undefined;
    if (typeof text !== 'string') return problem('caBundle');
    assigned.probe = { ...probe, caBundle: text };
  }
  if (target !== undefined) {
    if (!isTarget(target)) return problem('target');
    assigned.target = { host: target.host, port: target.port };
  }
  if (podAddresses !== undefined) {
    if (!isTexts(podAddresses)) return problem('podAddresses');
    assigned.podAddresses = podAddresses;
  }
  if (podStart !== undefined) {
    if (typeof podStart !== 'string' || Number.isNaN(Date.parse(podStart))) return problem('podStart');
    assigned.podStart = podStart;
  }
  for (const [field, range] of [
    ['periodMilliseconds', PERIOD_MS],
    ['timeoutMilliseconds', TIMEOUT_MS],
    ['failureThreshold', THRESHOLD],
    ['successThreshold', THRESHOLD],
  ] as const) {
    const value = entry[field];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isInteger(value)) return problem(field);
    assigned[field] = Math.min(range.max, Math.max(range.min, value));
  }
  return assigned;
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** What goes into reports has the length that reports may have. */
function isDigest(value: unknown): value is string {
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

/** What the coordinator answered to a report that it took. */
export type Reply = {
  /** Absent when the coordinator leaves the interval to the agent. */
  nextReportSeconds?: number;
  full: boolean;
  /** The report did not count, and the next ones of this session would not, either. */
  newSession?: boolean;
  /** What to answer in each report. */
  questions?: readonly string[];
  /** What to probe; absent where that is as before. */
  services?: readonly AssignedService[];
  /** Of `services`, to be repeated in reports. */
  servicesDigest?: string;
};

/** As many as the coordinator takes answers to. */
const QUESTIONS_MAX = 64;

export const NEXT_REPORT_SECONDS_MIN = 0.2;
export const NEXT_REPORT_SECONDS_MAX = 600;

/**
 * Reads a reply: unknown fields are ignored; a field of a wrong type is a problem. An interval out of range is brought
 * into it.
 */
export function parseReply(text: string): { reply: Reply } | { problem: string } {
  const body = parseObject(text);
  if (!body) return { problem: 'the reply is not a JSON object, or is nested too deeply' };
  const { nextReportSeconds, full = false, newSession = false, questions } = body;
  if (nextReportSeconds !== undefined && typeof nextReportSeconds !== 'number') {
    return { problem: 'nextReportSeconds of the reply is not a number' };
  }
  if (typeof full !== 'boolean') return { problem: 'full of the reply is not true or false' };
  if (typeof newSession !== 'boolean') return { problem: 'newSession of the reply is not true or false' };
  const reply: Reply = { full, ...(newSession ? { newSession } : {}) };
  if (nextReportSeconds !== undefined) reply.nextReportSeconds = clampSeconds(nextReportSeconds);
  if (questions !== undefined) {
    if (!Array.isArray(questions)) return { problem: 'questions of the reply is not a list' };
    reply.questions = questions.filter((each) => typeof each === 'string').slice(0, QUESTIONS_MAX);
  }
  const { services, caBundles = {}, servicesDigest } = body;
  if (services === undefined) return { reply };
  if (!Array.isArray(services)) return { problem: 'services of the reply is not a list' };
  if (!isObject(caBundles)) return { problem: 'caBundles of the reply is not an object' };
  reply.services = readServices(services, caBundles);
  if (isDigest(servicesDigest)) reply.servicesDigest = servicesDigest;
  return { reply };
}

/** RFC 9457: what went wrong, in the words of the coordinator; empty when it did not say. */
export function problemDetail(text: string): { title?: string; detail?: string; field?: string } {
  const body = parseObject(text) ?? {};
  const found: Record<string, string> = {};
  for (const key of ['title', 'detail', 'field']) {
    const value = body[key];
    if (typeof value === 'string' && value !== '') found[key] = value.slice(0, 300);
  }
  return found;
}

function clampSeconds(seconds: number): number {
  return Math.min(NEXT_REPORT_SECONDS_MAX, Math.max(NEXT_REPORT_SECONDS_MIN, seconds));
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
