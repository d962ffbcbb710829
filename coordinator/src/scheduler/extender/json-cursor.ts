import { isUtf8 } from 'node:buffer';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;

const SPACES_MAX = 64 * 1024;
const KEY_BYTES_MAX = 64 * 1024;
const PLAIN_BYTES_MAX = 512;
/** Objects of Kubernetes are a dozen deep. */
const DEPTH_MAX = 1_000;

/**
 * Walks through JSON text without making it into objects: what is looked at is parsed piece by piece, and each piece is
 * garbage as soon as it is done with. Every method throws SyntaxError for what is not JSON in UTF-8, and for what would
 * take long: endless space between values, or a depth of more than a thousand.
 */
export class JsonCursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The offset at which the last value ends. */
  get at(): number {
    return this.#at;
  }

  /** The offset at which the next value begins, or the text after the last value. */
  position(): number {
    const start = this.#at;
    while (isSpace(this.#bytes[this.#at])) {
      this.#at += 1;
      if (this.#at - start > SPACES_MAX) throw new SyntaxError(`There is too much white space after byte ${start}`);
    }
    return this.#at;
  }

  /** Whether the next value is an object. */
  isObject(): boolean {
    return this.#bytes[this.position()] === BRACE_OPEN;
  }

  /** Whether the next value is an array. */
  isArray(): boolean {
    return this.#bytes[this.position()] === BRACKET_OPEN;
  }

  /** The keys of an object, one by one: the caller reads the value of a key before it takes the next key. */
  *members(): Generator<string> {
    this.#expect('{');
    if (this.#take('}')) return;
    do {
      if (this.#bytes[this.position()] !== QUOTE) throw new SyntaxError(`A key is missing at byte ${this.#at}`);
      const key = String(this.value(KEY_BYTES_MAX));
      this.#expect(':');
      yield key;
    } while (this.#take(','));
    this.#expect('}');
  }

  /** The elements of an array, to be read like the values of `members`. */
  *elements(): Generator<void> {
    this.#expect('[');
    if (this.#take(']')) return;
    do yield;
    while (this.#take(','));
    this.#expect(']');
  }

  /** Parses the next value. Throws SyntaxError also for one of more than `bytesMax`. */
  value(bytesMax = Number.POSITIVE_INFINITY): unknown {
    const start = this.position();
    const plainEnd = endOfPlainString(this.#bytes, start, bytesMax);
    if (plainEnd !== undefined) {
      this.#at = plainEnd;
      return this.#bytes.toString('latin1', start + 1, plainEnd - 1);
    }
    // One byte more shows that there is more; what comes then is not looked at.
    const end = endOfValue(this.#bytes, start, Math.min(this.#bytes.length, start + bytesMax + 1));
    if (end - start > bytesMax) throw new SyntaxError(`The value at byte ${start} has more than ${bytesMax} bytes`);
    this.#at = end;
    const piece = this.#bytes.subarray(start, end);
    if (!isUtf8(piece)) throw new SyntaxError(`The value at byte ${start} is not UTF-8`);
    return JSON.parse(piece.toString('utf8'));
  }

  /**
   * Parses the next value at once, where it is an array of strings without a closing bracket in them, and within all
   * limits; `undefined` for all else, of which nothing is read. `characters` is of each string.
   */
  plainStrings(max: { bytes: number; count: number; characters: number }): string[] | undefined {
    const start = this.position();
    const end = this.#bytes.indexOf(BRACKET_CLOSE, start) + 1;
    if (this.#bytes[start] !== BRACKET_OPEN || end === 0 || end - start > max.bytes) return undefined;
    const piece = this.#bytes.subarray(start, end);
    const strings = isUtf8(piece) ? arrayIn(piece.toString('utf8')) : undefined;
    if (!strings || strings.length > max.count) return undefined;
    if (!strings.every((each) => typeof each === 'string' && each.length <= max.characters)) return undefined;
    this.#at = end;
    return strings as string[];
  }

  /** Nothing may follow. */
  end(): void {
    if (this.position() < this.#bytes.length)
      throw new SyntaxError(`There is more text after the end, at byte ${this.#at}`);
  }

  #take(character: string): boolean {
    if (this.#bytes[this.position()] !== character.charCodeAt(0)) return false;
    this.#at += 1;
    return true;
  }

  #expect(character: string): void {
    if (!this.#take(character)) throw new SyntaxError(`${character} is missing at byte ${this.#at}`);
  }
}

function arrayIn(text: string): unknown[] | undefined {
  try {
    return JSON.parse(text) as unknown[];
  } catch {
    return undefined;
  }
}

/** JSON knows no other. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Returns the offset at which a value ends, if it is one, or `limit`. Brackets are only counted. */
function endOfValue(bytes: Buffer, start: number, limit: number): number {
  let depth = 0;
  let at = start;
  while (at < limit) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at, limit);
      if (depth === 0) return at;
      continue;
    }
    if (byte === BRACE_OPEN || byte === BRACKET_OPEN) {
      depth += 1;
      if (depth > DEPTH_MAX)
        throw new SyntaxError(`The value at byte ${start} is nested more than ${DEPTH_MAX} levels deep`);
    } else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at;
    at += 1;
  }
  return limit;
}

/** Returns the offset at which a short string without escapes ends, such as a name; `undefined` for all else. */
function endOfPlainString(bytes: Buffer, start: number, bytesMax: number): number | undefined {
  if (bytes[start] !== QUOTE) return undefined;
  const limit = start + Math.min(bytesMax, PLAIN_BYTES_MAX);
  for (let at = start + 1; at < limit; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return undefined;
  }
  return undefined;
}

function endOfString(bytes: Buffer, start: number, limit: number): number {
  let at = start + 1;
  while (at < limit) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return limit;
}
