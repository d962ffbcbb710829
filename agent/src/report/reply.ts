import type { ProbeTarget } from '@rollcall/common/report.ts';
import type { ToldService } from '../probes/service-list.ts';
import { isObject, isTarget, readServices } from './told-services.ts';

/** What the coordinator answered to a report that it took. */
export type Reply = {
  /** Absent when the coordinator leaves the interval to the agent. */
  nextReportSeconds?: number;
  full: boolean;
  /** What to answer in each report. */
  questions?: readonly string[];
  /** What to probe; absent when the coordinator does not say so. */
  services?: readonly ToldService[];
  /** What a coordinator that does not say it has instead: where to probe. */
  targets?: ReadonlyMap<string, ProbeTarget>;
};

/** As many as the coordinator takes answers to. */
const QUESTIONS_MAX = 64;

export const NEXT_REPORT_SECONDS_MIN = 0.2;
export const NEXT_REPORT_SECONDS_MAX = 600;

/**
 * Reads a reply: unknown fields are ignored, since a newer coordinator may send more; a field of a wrong type is a
 * problem. An interval out of range is brought into it.
 */
export function parseReply(text: string): { reply: Reply } | { problem: string } {
  const body = parseObject(text);
  if (!body) return { problem: 'the reply is not a JSON object' };
  const { nextReportSeconds, full = false, questions, services, targets } = body;
  if (nextReportSeconds !== undefined && typeof nextReportSeconds !== 'number') {
    return { problem: 'nextReportSeconds of the reply is not a number' };
  }
  if (typeof full !== 'boolean') return { problem: 'full of the reply is not true or false' };
  const reply: Reply = { full };
  if (nextReportSeconds !== undefined) reply.nextReportSeconds = clampSeconds(nextReportSeconds);
  if (questions !== undefined) {
    if (!Array.isArray(questions)) return { problem: 'questions of the reply is not a list' };
    reply.questions = questions.filter((each) => typeof each === 'string').slice(0, QUESTIONS_MAX);
  }
  if (services !== undefined) {
    if (!Array.isArray(services)) return { problem: 'services of the reply is not a list' };
    return { reply: { ...reply, services: readServices(services) } };
  }
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

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
