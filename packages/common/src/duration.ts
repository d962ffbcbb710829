import type { StartingDocument } from './console.ts';

/** A time span as `kubectl` writes it: 40s, 3m, 2h, 5d. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** How long before `now` a time of RFC 3339 was. */
export function ago(time: string, now: string): string {
  return `${duration(Date.parse(now) - Date.parse(time))} ago`;
}

/** Since when a node waits for a service, and how long it may, such as `created 40s ago, deadline in 3m`. */
export function startupWords({ since, deadline }: StartingDocument, now: string): string {
  const created = `created ${ago(since, now)}`;
  if (deadline === undefined) return created;
  const leftMs = Date.parse(deadline) - Date.parse(now);
  return `${created}, deadline ${leftMs > 0 ? `in ${duration(leftMs)}` : ago(deadline, now)}`;
}
