/** What moves the cursor, changes colors, or turns the direction of what follows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text that others wrote, such as a probe's evidence, made fit for a terminal: what cannot be seen is spelled out. */
export function clean(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** The same, of every text in a document. */
export function cleanDocument<T>(document: T): T {
  if (typeof document === 'string') return clean(document) as T;
  if (Array.isArray(document)) return document.map(cleanDocument) as T;
  if (document === null || typeof document !== 'object') return document;
  return Object.fromEntries(Object.entries(document).map(([key, value]) => [clean(key), cleanDocument(value)])) as T;
}
