/** Annotations of a Node with JSON in them. Others can edit a Node, so whatever cannot be read counts as absent. */

type Entry = readonly [key: string, text: string];

/** Parses an annotation; `undefined` where it is absent, or no JSON. */
export function parseAnnotation(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a JSON object as it is, and an empty one for anything else. */
export function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Returns the entries of a JSON object whose values are texts; none for anything else. */
export function textsIn(value: unknown): Entry[] {
  return Object.entries(objectIn(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}

/** Returns the same object for the same entries, in whatever order they come. */
export function sortedObject(entries: Iterable<Entry>): Record<string, string> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}
