import { expect, it } from 'vitest';
import { CLIENT_HELLO } from './tls-client-hello.ts';

/** Reads what is to be read; throws where a length is not right. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  number(length: number): number {
    this.#at += length;
    return this.#bytes.readUIntBE(this.#at - length, length);
  }

  /** What has its length before it, in so many bytes. */
  vector(lengthBytes: number): Reader {
    const length = this.number(lengthBytes);
    if (this.#at + length > this.#bytes.length) throw new RangeError(`There are no ${length} bytes`);
    this.#at += length;
    return new Reader(this.#bytes.subarray(this.#at - length, this.#at));
  }

  numbers(length: number): number[] {
    const numbers: number[] = [];
    while (!this.isAtEnd) numbers.push(this.number(length));
    return numbers;
  }
}

function extensionsOf(all: Reader): Map<number, Reader> {
  const extensions = new Map<number, Reader>();
  while (!all.isAtEnd) extensions.set(all.number(2), all.vector(2));
  return extensions;
}

/** RFC 8446, sections 4.1.2, 4.2 and 5.1; the numbers are assigned by IANA. */
it('is one that servers of TLS 1.2 and 1.3 can read, with no server name and nothing that resumes a session', () => {
  const record = new Reader(CLIENT_HELLO);
  expect([record.number(1), record.number(2)]).toEqual([22, 0x0301]);
  const handshake = record.vector(2);
  expect(record.isAtEnd).toBe(true);
  expect(handshake.number(1)).toBe(1);
  const hello = handshake.vector(3);
  expect(handshake.isAtEnd).toBe(true);
  expect(hello.number(2)).toBe(0x0303);
  for (let byte = 0; byte < 32; byte += 1) hello.number(1);
  expect(hello.vector(1).isAtEnd).toBe(true);
  const suites = hello.vector(2).numbers(2);
  // One that every server of TLS 1.3 has, and one of TLS 1.2 for certificates of either kind.
  expect(suites).toEqual(expect.arrayContaining([0x1301, 0xc02b, 0xc02f]));
  expect(suites.every((suite) => suite >> 8 === 0x13 || suite >> 8 === 0xc0 || suite >> 8 === 0xcc)).toBe(true);
  expect(hello.vector(1).numbers(1)).toEqual([0]);
  const extensions = extensionsOf(hello.vector(2));
  expect(hello.isAtEnd).toBe(true);
  expect([...extensions.keys()]).toEqual([10, 11, 13, 43, 51]);
  expect(extensions.get(10)?.vector(2).numbers(2)).toEqual([0x001d, 0x0017]);
  expect(extensions.get(11)?.vector(1).numbers(1)).toEqual([0]);
  const signatures = extensions.get(13)?.vector(2).numbers(2);
  expect(signatures).toEqual([0x0403, 0x0503, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601]);
  expect(extensions.get(43)?.vector(1).numbers(2)).toEqual([0x0304, 0x0303]);
  const share = extensions.get(51)?.vector(2);
  expect(share?.number(2)).toBe(0x001d);
  const key = share?.vector(2).numbers(1);
  // RFC 7748, section 4.1: the base point.
  expect(key).toEqual([9, ...new Array<number>(31).fill(0)]);
});
