/** Characters of one value, as JSON; a longer one is rarely the same on another node. */
const TEXT_MAX = 2000;
/** Characters of all values together; beyond that the memory begins anew. */
const TOTAL_MAX = 4_000_000;

/** Returns the same text or object for equal ones, so that what many nodes have is stored once and compared at once. */
export type Intern<T> = (value: T) => T;

/** One intern takes either texts or objects, since a text may equal the JSON of an object. */
export function createIntern<T extends string | object>(): Intern<T> {
  const known = new Map<string, T>();
  let total = 0;
  return (value) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const before = known.get(text);
    if (before !== undefined) return before;
    if (text.length > TEXT_MAX) return value;
    total += text.length;
    if (total > TOTAL_MAX) {
      known.clear();
      total = text.length;
    }
    known.set(text, value);
    return value;
  };
}
