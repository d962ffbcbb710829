import type { ProbeTarget } from '@rollcall/common/report.ts';

/** What the coordinator answered to a report that it took. */
export type Reply = {
  /** Absent when the coordinator leaves the interval to the agent. */
  nextReportSeconds?: number;
  full: boolean;
  /** Absent when the reply says nothing about targets. */
  targets?: ReadonlyMap<string, ProbeTarget>;
};

export const NEXT_REPORT_SECONDS_MIN = 0.2;
export const NEXT_REPORT_SECONDS_MAX = 600;

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads a reply: unknown fields are ignored, since a newer coordinator may send more; a field of a wrong type is a
 * problem. An interval out of range is brought into it.
 */
export function parseReply(text: string): { reply: Reply } | { problem: string } {
  const body = parseObject(text);
  if (!body) return { problem: 'the reply is not a JSON object' };
  const { nextReportSeconds, full = false, targets } = body;
  if (nextReportSeconds !== undefined && typeof nextReportSeconds !== 'number') {
    return { problem: 'nextReportSeconds of the reply is not a number' };
  }
  if (typeof full !== 'boolean') return { problem: 'full of the reply is not true or false' };
  const reply: Reply = { full };
  if (nextReportSeconds !== undefined) reply.nextReportSeconds = clampSeconds(nextReportSeconds);
  if (targets === undefined) return { reply };
  if (!isObject(targets)) return { problem: 'targets of the reply is not an object' };
  const parsed = new Map<string, ProbeTarget>();
  for (const [service, target] of Object.entries(targets)) {
    if (!isTarget(target)) return { problem: `targets.${service} of the reply is not a host and a port` };
    parsed.set(service, { host: target.host, port: target.port });
  }
  return { reply: { ...reply, targets: parsed } };
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

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isTarget(value: unknown): value is ProbeTarget {
  if (!isObject(value)) return false;
  const { host, port } = value;
  if (typeof host !== 'string' || host === '' || host.length > 253) return false;
  return typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535;
}
