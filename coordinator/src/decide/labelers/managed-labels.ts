/**
 * The keys in the annotation that lists what a node has because of its pool. Nothing where it is absent; `undefined`
 * where it cannot be read, so that nobody knows.
 */
export function parseManagedLabels(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return new Set();
  try {
    const keys: unknown = JSON.parse(text);
    if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) return new Set(keys);
  } catch {
    // It says nothing.
  }
  return undefined;
}

/** Always the same text for the same keys. */
export function formatManagedLabels(keys: Iterable<string>): string {
  return JSON.stringify([...keys].sort());
}
