import { BadAnswer } from './probe.ts';

/**
 * Header fields of HTTP/2 (HPACK, RFC 7541) for a client that permits no dynamic table, so that a block can be read
 * without those before it.
 */

/** Bytes of a field list, RFC 7541 section 4.1. As much as servers of gRPC send by default. */
export const FIELD_LIST_BYTES_MAX = 8 * 1024;
const FIELD_BYTES = 32;

/** RFC 7541, appendix A. */
const STATIC_TABLE = [
  ':authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|:status 204',
  ':status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|accept-encoding gzip, deflate',
  'accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control',
  'content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type',
  'cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since',
  'last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after',
  'server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate',
]
  .flatMap((entries) => entries.split('|'))
  .map((entry) => {
    const [name = '', ...value] = entry.split(' ');
    return { name, value: value.join(' ') };
  });

/** The codes of RFC 7541 have so many bits. */
const HUFFMAN_BITS_MIN = 5;
const HUFFMAN_BITS_MAX = 30;
const END_OF_STRING = 256;
/** Bits of the code of each byte and of the end, RFC 7541 appendix B, a digit in base 36 each. The code is canonical. */
const HUFFMAN_LENGTHS = [
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca',
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds',
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn',
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu',
].join('');

/** Symbols in the order of their codes; of each length in bits, its first code and where its symbols begin. */
const HUFFMAN = canonicalCode([...HUFFMAN_LENGTHS].map((digit) => Number.parseInt(digit, 36)));

function canonicalCode(lengths: readonly number[]) {
  const symbols: number[] = [];
  const starts: { code: number; symbol: number; count: number }[] = [{ code: 0, symbol: 0, count: 0 }];
  let code = 0;
  for (let bits = 1; bits <= HUFFMAN_BITS_MAX; bits += 1) {
    const start = symbols.length;
    symbols.push(...lengths.keys().filter((symbol) => lengths[symbol] === bits));
    starts.push({ code, symbol: start, count: symbols.length - start });
    code = (code + symbols.length - start) * 2;
  }
  return { symbols, starts };
}

/** The value of each field, or of the last one of a name. Throws BadAnswer for a block that is not valid or too long. */
export function decodeHeaders(block: Uint8Array): Map<string, string> {
  const fields = new Map<string, string>();
  let at = 0;
  let listBytes = 0;

  /** RFC 7541, section 5.1. */
  const takeNumber = (prefixBits: number) => {
    const limit = 2 ** prefixBits - 1;
    let value = takeByte() & limit;
    if (value < limit) return value;
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = takeByte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw unreadable();
  };
  const takeByte = () => {
    const byte = block[at];
    if (byte === undefined) throw unreadable();
    at += 1;
    return byte;
  };
  const takeText = () => {
    const isHuffman = ((block[at] ?? 0) & 0x80) !== 0;
    const length = takeNumber(7);
    if (at + length > block.length) throw unreadable();
    at += length;
    const bytes = block.subarray(at - length, at);
    return isHuffman ? decodeHuffman(bytes) : Buffer.from(bytes).toString('latin1');
  };
  const staticField = (index: number) => {
    const field = STATIC_TABLE[index - 1];
    if (!field) throw unreadable();
    return field;
  };
  const takeLiteral = (prefixBits: number) => {
    const index = takeNumber(prefixBits);
    const name = index === 0 ? takeText() : staticField(index).name;
    return { name, value: takeText() };
  };

  while (at < block.length) {
    const first = block[at] ?? 0;
    // A new size of the dynamic table; it can only be none.
    if (first >> 5 === 1) {
      if (takeNumber(5) !== 0) throw unreadable();
      continue;
    }
    const { name, value } = first >= 0x80 ? staticField(takeNumber(7)) : takeLiteral(first >= 0x40 ? 6 : 4);
    listBytes += name.length + value.length + FIELD_BYTES;
    if (listBytes > FIELD_LIST_BYTES_MAX)
      throw new BadAnswer(`answered with more than ${FIELD_LIST_BYTES_MAX} bytes of headers`);
    fields.set(name, value);
  }
  return fields;
}

function decodeHuffman(bytes: Uint8Array): string {
  const { symbols, starts } = HUFFMAN;
  const text: number[] = [];
  let code = 0;
  let bits = 0;
  for (const byte of bytes) {
    for (let shift = 7; shift >= 0; shift -= 1) {
      code = code * 2 + ((byte >> shift) & 1);
      bits += 1;
      if (bits < HUFFMAN_BITS_MIN) continue;
      const start = starts[bits];
      const symbol = start && code - start.code < start.count ? symbols[start.symbol + code - start.code] : undefined;
      if (symbol === undefined && bits < HUFFMAN_BITS_MAX) continue;
      if (symbol === undefined || symbol === END_OF_STRING) throw unreadable();
      text.push(symbol);
      code = 0;
      bits = 0;
    }
  }
  // What is left is the beginning of the code of the end.
  if (bits > 7 || code !== 2 ** bits - 1) throw unreadable();
  return Buffer.from(text).toString('latin1');
}

function unreadable(): BadAnswer {
  return new BadAnswer('answered with headers that cannot be read');
}

/** A block of literal fields. Values are ASCII. */
export function encodeHeaders(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string) => [...encodeNumber(value.length), ...Buffer.from(value, 'latin1')];
  return Buffer.from(fields.flatMap(([name, value]) => [0, ...text(name), ...text(value)]));
}

/** With a prefix of seven bits. */
function encodeNumber(value: number): number[] {
  if (value < 0x7f) return [value];
  const bytes = [0x7f];
  let rest = value - 0x7f;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}
