import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonLines } from './https-client.ts';

function readAll(chunks: Buffer[], lineBytesMax = 1e6): unknown[] {
  const lines = new JsonLines(lineBytesMax);
  const values = chunks.flatMap((chunk) => [...lines.push(chunk)]);
  lines.end();
  return values;
}

describe('JsonLines', () => {
  it('gives the same values however the bytes are cut into chunks', () => {
    const value = fc.record({ text: fc.string({ unit: 'grapheme' }), number: fc.integer() });
    const cuts = fc.array(fc.nat({ max: 40 }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.array(value, { maxLength: 8 }), cuts, (values, sizes) => {
        const bytes = Buffer.from(values.map((each) => `${JSON.stringify(each)}\n`).join(''));
        const chunks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        chunks.push(bytes.subarray(at));
        expect(readAll(chunks)).toEqual(values);
      }),
    );
  });

  it('skips empty lines, and takes line ends of two characters', () => {
    expect(readAll([Buffer.from('\n1\r\n\r\n2\n')])).toEqual([1, 2]);
  });

  it('refuses a line that is not JSON', () => {
    expect(() => readAll([Buffer.from('{"a":1}\n<html>\n')])).toThrow(
      expect.objectContaining({ code: 'KUBE_WATCH_BROKEN' }),
    );
  });

  it('refuses a line that is too long, before it has ended', () => {
    const lines = new JsonLines(10);
    expect([...lines.push(Buffer.from('1234567890\n12345'))]).toEqual([1234567890]);
    expect(() => [...lines.push(Buffer.from('678901'))]).toThrow(
      expect.objectContaining({ code: 'KUBE_WATCH_BROKEN' }),
    );
  });

  it('refuses an end in the middle of a line', () => {
    expect(() => readAll([Buffer.from('{"a":')])).toThrow(expect.objectContaining({ code: 'KUBE_WATCH_BROKEN' }));
  });
});
