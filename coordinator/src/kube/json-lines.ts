import { CodedError } from '@rollcall/common/coded-error.ts';

const NEWLINE = 0x0a;

/**
 * Puts JSON lines together from chunks of bytes. It splits bytes, not text: a chunk may end in the middle of a
 * character.
 */
export class JsonLines {
  readonly #lineBytesMax: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** The values of the lines that `chunk` completes. Throws KUBE_WATCH_BROKEN, and is of no further use then. */
  *push(chunk: Buffer): Generator<unknown> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#length = 0;
      const text = line?.toString('utf8').trim() ?? '';
      if (text !== '') yield parse(text);
    }
    this.#keep(chunk.subarray(start));
  }

  /** Throws KUBE_WATCH_BROKEN when the last line was cut off. */
  end(): void {
    if (this.#length > 0) throw new CodedError('KUBE_WATCH_BROKEN', 'The watch ended in the middle of a line');
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#length += bytes.length;
    if (this.#length > this.#lineBytesMax) {
      throw new CodedError('KUBE_WATCH_BROKEN', `The watch sent a line of more than ${this.#lineBytesMax} bytes`);
    }
    this.#parts.push(bytes);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CodedError('KUBE_WATCH_BROKEN', 'The watch sent a line that is not JSON', { cause });
  }
}
