/**
 * Whether resource version `a` came before `b`: they may be compared as numbers within one resource (KEP-5504), but are
 * too large for a float.
 */
export function isOlderVersion(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}
