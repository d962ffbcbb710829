/** Control and format characters, and separators of lines: what moves the cursor, has no width, or turns the direction. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text that others wrote, such as a probe's evidence, made fit for a terminal: what cannot be seen is spelled out. */
export function clean(text: string): string {
  return text.replace(UNSEEN, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** A line of JSON whose text means the same and has no such character, but for line breaks between its values. */
export function cleanJson(json: string): string {
  return json.replace(UNSEEN, (char) => (char === '\n' ? char : char.split('').map(jsonEscape).join('')));
}

function jsonEscape(codeUnit: string): string {
  return `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The same, of every text in a document. */
export function cleanDocument<T>(document: T): T {
  if (typeof document === 'string') return clean(document) as T;
  if (Array.isArray(document)) return document.map(cleanDocument) as T;
  if (document === null || typeof document !== 'object') return document;
  return Object.fromEntries(Object.entries(document).map(([key, value]) => [clean(key), cleanDocument(value)])) as T;
}
