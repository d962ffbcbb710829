/** A moment of the wall clock, in milliseconds since the epoch, as text: RFC 3339, UTC, in whole seconds. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, '');
}
