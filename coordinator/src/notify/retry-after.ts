/** A date far ahead is rather a clock that is wrong. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** Milliseconds that a `Retry-After` header asks for (RFC 9110, section 10.2.3: seconds or a date), at most an hour. */
export function retryAfterMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const askedMs = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(askedMs) ? 0 : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, askedMs));
}
