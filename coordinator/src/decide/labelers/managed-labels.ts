import { parseAnnotation } from '../../state/json-annotation.ts';

/**
 * The keys in the annotation that lists what a node has because of its pool: none if it is absent, `undefined` if it
 * cannot be read, so that they are unknown.
 */
export function parseManagedLabels(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return new Set();
  const keys = parseAnnotation(text);
  return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? new Set(keys) : undefined;
}

/** Always the same text for the same keys. */
export function formatManagedLabels(keys: Iterable<string>): string {
  return JSON.stringify([...keys].sort());
}
