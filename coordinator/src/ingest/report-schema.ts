import { cleanDocument } from '@rollcall/common/clean.ts';
import {
  DEVICE_BUSES,
  type FullReport,
  type Heartbeat,
  isProbeName,
  PROBE_NAME_LENGTH_MAX,
  PROTOCOL_VERSION,
  type Unread,
} from '@rollcall/common/report.ts';
import * as z from 'zod/mini';

/** Limits on what one report may hold. They are far above what any real node has. */
export const REPORT_LIMITS = {
  services: 256,
  devices: 512,
  deviceAttributes: 32,
  deviceNodes: 16,
  answers: 64,
  facts: 64,
  unread: 4,
  /** Characters of each, not bytes. */
  nodeName: 253,
  boot: 128,
  digest: 128,
  serviceName: PROBE_NAME_LENGTH_MAX,
  evidence: 4096,
  key: 128,
  value: 1024,
  /** Maximum count of identical devices. */
  deviceCount: 65_536,
} as const;

/** The path of the fault (`services[0].ready`; empty for the whole body), and what is wrong there. */
type ReportProblem = { field: string; detail: string };

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/;

function text(maxLength: number) {
  return z.string().check(z.minLength(1), z.maxLength(maxLength));
}

/** Counted before the entries are looked at, so that a hostile body costs no more than a proper one. */
function listOf<T>(item: z.ZodMiniType<T, T>, maxItems: number) {
  const few = z.custom<T[]>((value) => !Array.isArray(value) || value.length <= maxItems, {
    error: `must have at most ${maxItems} items`,
  });
  return z.pipe(few, z.array(item));
}

function textMap(maxEntries: number) {
  const few = z.custom<Record<string, string>>((value) => !isObject(value) || Object.keys(value).length <= maxEntries, {
    error: `must have at most ${maxEntries} entries`,
  });
  const value = z.string().check(z.maxLength(REPORT_LIMITS.value));
  return z.pipe(few, z.record(text(REPORT_LIMITS.key), value));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const timestamp = z.string().check(
  z.refine((value) => RFC3339.test(value) && !Number.isNaN(Date.parse(value)), {
    error: 'must be a time as in RFC 3339',
  }),
);

const service = z.object({
  name: z.string().check(z.refine(isProbeName, { error: 'must be the name of a probe: SERVICE or SERVICE/CHECK' })),
  ready: z.boolean(),
  unknown: z.exactOptional(z.literal(true)),
  since: timestamp,
  evidence: z.string().check(z.maxLength(REPORT_LIMITS.evidence)),
  digest: z.exactOptional(text(REPORT_LIMITS.digest)),
});

const device = z.object({
  bus: z.enum(DEVICE_BUSES),
  attributes: textMap(REPORT_LIMITS.deviceAttributes),
  count: z.exactOptional(z.int().check(z.minimum(1), z.maximum(REPORT_LIMITS.deviceCount))),
  driver: z.exactOptional(text(REPORT_LIMITS.value)),
  virtual: z.exactOptional(z.literal(true)),
  address: z.exactOptional(text(REPORT_LIMITS.value)),
  numaNode: z.exactOptional(z.int().check(z.nonnegative())),
  iommuGroup: z.exactOptional(text(REPORT_LIMITS.value)),
  nodes: z.exactOptional(listOf(text(REPORT_LIMITS.value), REPORT_LIMITS.deviceNodes)),
});

const answers = z.pipe(
  z.custom<Record<string, boolean>>((value) => !isObject(value) || Object.keys(value).length <= REPORT_LIMITS.answers, {
    error: `must have at most ${REPORT_LIMITS.answers} entries`,
  }),
  z.record(text(REPORT_LIMITS.key), z.boolean()),
);

const header = {
  node: text(REPORT_LIMITS.nodeName),
  boot: text(REPORT_LIMITS.boot),
  sequence: z.int().check(z.nonnegative()),
  digest: text(REPORT_LIMITS.digest),
  servicesDigest: z.exactOptional(text(REPORT_LIMITS.digest)),
  leaving: z.exactOptional(z.boolean()),
};

const heartbeat = z.object(header);

const fullReport = z.object({
  ...header,
  services: listOf(service, REPORT_LIMITS.services),
  devices: z.exactOptional(listOf(device, REPORT_LIMITS.devices)),
  unread: z.exactOptional(listOf(z.enum([...DEVICE_BUSES, 'facts']), REPORT_LIMITS.unread)),
  facts: z.exactOptional(textMap(REPORT_LIMITS.facts)),
  answers: z.exactOptional(answers),
  values: z.exactOptional(textMap(REPORT_LIMITS.answers)),
  version: z.exactOptional(text(REPORT_LIMITS.key)),
});

/**
 * Reads a report out of parsed JSON. A report with content (services, devices or facts) is a full report, in which
 * services are required, and missing devices or facts are unread; a report without content is a heartbeat. A report of
 * another protocol version is a problem; a report that names none is of the first. Unknown fields are dropped. Every
 * text is cleaned here, once, for all who show it: what an agent says ends in terminals.
 */
export function parseReport(body: object): { report: FullReport | Heartbeat } | { problem: ReportProblem } {
  if ('protocol' in body && body.protocol !== PROTOCOL_VERSION) {
    const detail = `must be ${PROTOCOL_VERSION}: run agents and coordinators of the same release`;
    return { problem: { field: 'protocol', detail } };
  }
  if (!('services' in body || 'devices' in body || 'facts' in body)) {
    const result = heartbeat.safeParse(body);
    return result.success
      ? { report: cleanDocument(result.data) satisfies Heartbeat }
      : { problem: problemOf(result.error, body) };
  }
  const result = fullReport.safeParse(body);
  if (!result.success) return { problem: problemOf(result.error, body) };
  const { devices = [], facts = {}, unread = [], ...rest } = cleanDocument(result.data);
  const duplicate = duplicateName(rest.services);
  if (duplicate) return { problem: duplicate };
  // An agent that says nothing of its hardware does not say that there is none.
  const missing: readonly Unread[] = [
    ...(result.data.devices ? [] : DEVICE_BUSES),
    ...(result.data.facts ? [] : (['facts'] as const)),
  ];
  const all = [...new Set([...unread, ...missing])];
  return { report: { ...rest, devices, facts, ...(all.length > 0 ? { unread: all } : {}) } satisfies FullReport };
}

function duplicateName(services: FullReport['services']): ReportProblem | undefined {
  const names = new Set<string>();
  for (const [index, { name }] of services.entries()) {
    if (names.has(name)) return { field: `services[${index}].name`, detail: `"${name}" occurs twice` };
    names.add(name);
  }
  return undefined;
}

function problemOf(error: z.core.$ZodError, body: object): ReportProblem {
  const issue = error.issues[0];
  if (!issue) return { field: '', detail: 'is not a report' };
  const field = fieldName(issue.path);
  const missing = issue.code === 'invalid_type' && valueAt(body, issue.path) === undefined;
  return { field, detail: missing ? `is missing, and ${detailOf(issue)}` : detailOf(issue) };
}

function valueAt(body: object, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part], body);
}

/** `['services', 0, 'ready']` as `services[0].ready`; keys that a client made up are cut short. */
function fieldName(path: readonly PropertyKey[]): string {
  let name = '';
  for (const part of path) {
    if (typeof part === 'number') name += `[${part}]`;
    else name += `${name === '' ? '' : '.'}${String(part).slice(0, 64)}`;
  }
  return name;
}

function detailOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeDetail(issue.expected);
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `must ${issue.origin === 'string' ? 'have' : 'be'} at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
    case 'too_small':
      return `must ${issue.origin === 'string' ? 'not be empty' : `be at least ${issue.minimum}`}`;
    case 'invalid_key':
      return `has a key that is not allowed: it ${issue.issues[0] ? detailOf(issue.issues[0]) : 'is invalid'}`;
    case 'invalid_format':
      return 'must consist of lower-case letters, digits and dashes, at most 63 of them';
    default:
      return issue.message;
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  number: 'a whole number',
  int: 'a whole number below 2^53',
  array: 'a list',
  record: 'an object',
  object: 'an object',
};

function typeDetail(expected: string): string {
  return `must be ${TYPE_WORDS[expected] ?? expected}`;
}
