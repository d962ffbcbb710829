import { parseJson } from '@rollcall/common/parse-json.ts';
import type { ToldService } from '../probes/service-list.ts';
import { isDigest, isObject, readServices } from './told-services.ts';

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
  services?: readonly ToldService[];
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
