import { createHash } from 'node:crypto';
import type { ReportContent } from './report.ts';

/** JSON with the keys of every object sorted, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}

/** SHA-256, in hex, of the canonical JSON of a report's content. */
export function contentDigest(content: ReportContent): string {
  const { services, devices, unread, facts, answers, values, version } = content;
  const all = { services, devices, unread, facts, answers, values, version };
  return digestOf(all satisfies Record<keyof ReportContent, unknown>);
}

/** SHA-256, in hex, of the canonical JSON of a value. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
