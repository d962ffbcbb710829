import { describe, expect, it } from 'vitest';
import { decodeFields, encodeText } from './protobuf.ts';

const decode = (...bytes: number[]) => Object.fromEntries(decodeFields(Uint8Array.from(bytes)));

describe('a message of Protocol Buffers', () => {
  it('is read field by field, and the last of those that repeat counts', () => {
    expect(decode()).toEqual({});
    expect(decode(8, 1)).toEqual({ 1: 1 });
    expect(decode(8, 1, 8, 2)).toEqual({ 1: 2 });
    expect(decode(8, 0xac, 0x02)).toEqual({ 1: 300 });
    expect(decode(10, 0)).toEqual({ 1: new Uint8Array(0) });
    expect(decode(10, 2, 8, 1)).toEqual({ 1: Uint8Array.of(8, 1) });
  });

  it('may have fields that are not known', () => {
    expect(decode(0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4, 0xa2, 1, 1, 0x61, 8, 1)).toMatchObject({ 1: 1 });
  });

  it.each([[[8]], [[8, 0x80]], [[10, 5, 1]], [[0x0b]], [[8, ...Array<number>(11).fill(0x80)]], [[0x11, 1]]])(
    'is refused when it is none: %j',
    (bytes) => {
      expect(() => decode(...bytes)).toThrow(RangeError);
    },
  );

  it('has numbers of up to 64 bits, and texts of any length', () => {
    expect(decode(8, 0x7f)).toEqual({ 1: 127 });
    expect(decode(8, 0x80, 0x01)).toEqual({ 1: 128 });
    expect(decode(8, ...Array<number>(9).fill(0x80), 1)).toEqual({ 1: 2 ** 63 });
    expect(decode(0x7a, 1, 0x61)).toEqual({ 15: Uint8Array.of(0x61) });
    for (const length of [127, 128]) {
      const text = 'x'.repeat(length);
      expect(decode(...encodeText(15, text))).toEqual({ 15: Uint8Array.from(Buffer.from(text)) });
    }
  });

  it('is written with a text, also with a long one', () => {
    expect([...encodeText(1, 'ab')]).toEqual([10, 2, 0x61, 0x62]);
    const long = 'x'.repeat(300);
    expect(String(decodeFields(encodeText(1, long)).get(1))).toBe(long);
  });
});
