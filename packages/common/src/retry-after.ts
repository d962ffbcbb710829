/** Milliseconds that a `Retry-After` header asks for (RFC 9110, section 10.2.3: seconds or a date), at most `maxMs`. */
export function retryAfterMs(header: string | undefined, nowMs: number, maxMs: number): number {
  if (header === undefined) return 0;
  const askedMs = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(askedMs) ? 0 : Math.min(maxMs, Math.max(0, askedMs));
}
