import { createServer, type ServerHttp2Stream } from 'node:http2';
import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeHeaders, encodeHeaders, FIELD_LIST_BYTES_MAX } from './hpack.ts';
import { Http2Connection } from './http2-connection.ts';
import { within } from './testing/limits.ts';
import { listenOnLoopback, type RunningServer } from './testing/servers.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const read = (text: string) => [...decodeHeaders(hex(text))];

describe('a block of headers', () => {
  // Of RFC 7541: C.2.1, C.2.2, C.2.3, C.2.4, and the values of C.6.1.
  it.each([
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', [['custom-key', 'custom-header']]],
    ['040c 2f73 616d 706c 652f 7061 7468', [[':path', '/sample/path']]],
    ['1008 7061 7373 776f 7264 0673 6563 7265 74', [['password', 'secret']]],
    ['82', [[':method', 'GET']]],
    ['4882 6402', [[':status', '302']]],
    ['0f0c 89 6196 d07a be94 1054 d444', undefined],
    ['6196 d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff', [['date', 'Mon, 21 Oct 2013 20:13:21 GMT']]],
    ['6e91 9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3', [['location', 'https://www.example.com']]],
    ['20 82', [[':method', 'GET']]],
    ['', []],
  ])('%s is read as in the RFC', (block, fields) => {
    if (fields) expect(read(block)).toEqual(fields);
    else expect(() => read(block)).toThrow('answered with headers that cannot be read');
  });

  it.each([
    ['index 0', '80'],
    ['an index beyond the static table', 'be'],
    ['a name beyond the static table', '7e 00'],
    ['a number without end', 'ff ff ff ff ff ff ff 01'],
    ['a number that is cut', 'ff'],
    ['a table that is not empty', '3f e1 1f'],
    ['a text that is longer than the block', '00 05 61'],
    ['a text of 2 GB', '00 7f ff ff ff 07 61'],
    ['a field without a value', '00 01 61'],
    ['padding with a zero', '00 81 00 00'],
    ['padding of eight bits', '00 82 1f ff 00'],
    ['the end within a text', '00 84 ff ff ff ff 00'],
  ])('with %s is refused', (_what, block) => {
    expect(() => read(block)).toThrow('answered with headers that cannot be read');
  });

  it('may be as long as its limit, with 32 bytes for each field', () => {
    const fits = FIELD_LIST_BYTES_MAX - 33;
    expect(decodeHeaders(encodeHeaders([['a', 'b'.repeat(fits)]])).get('a')).toHaveLength(fits);
    expect(() => decodeHeaders(encodeHeaders([['a', 'b'.repeat(fits + 1)]]))).toThrow(
      'more than 8192 bytes of headers',
    );
  });

  it('of any bytes is read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (block) => {
        try {
          expect(decodeHeaders(block).size).toBeLessThanOrEqual(block.length);
        } catch (error) {
          expect((error as Error).message).toMatch(/^answered with/);
        }
      }),
      { numRuns: fuzzRuns(5000) },
    );
  });
});

describe('headers as another implementation writes them', () => {
  let fields: Record<string, string> = {};
  let heard: Record<string, unknown> = {};
  let server: RunningServer;
  beforeAll(async () => {
    const http2 = createServer().on('stream', (stream: ServerHttp2Stream, headers) => {
      heard = headers;
      stream.respond({ ':status': 204, ...fields }, { endStream: true });
    });
    server = await listenOnLoopback(http2);
  });
  afterAll(() => server.close());

  async function exchange(sent: readonly (readonly [string, string])[] = []) {
    const connection = new Http2Connection(server, () => {});
    const request = [[':method', 'GET'], [':path', '/'], ...sent] as const;
    const { headers } = await connection.request(request, Buffer.alloc(0), within(5000));
    connection.socket.destroy();
    return headers;
  }

  it('are read with each character, among others that make the short code worth it', async () => {
    const codes = [
      9,
      ...Array.from({ length: 95 }, (_, index) => 32 + index),
      ...Array.from({ length: 128 }, (_, index) => 128 + index),
    ];
    for (let at = 0; at < codes.length; at += 40) {
      const some = codes.slice(at, at + 40);
      fields = Object.fromEntries(
        some.map((code, index) => [`x-${index}`, `${'0'.repeat(40)}${String.fromCharCode(code)}1`]),
      );
      const headers = await exchange();
      for (const [name, value] of Object.entries(fields)) expect(headers.get(name)).toBe(value);
    }
  });

  it('are read, and are understood as they are written', async () => {
    const value = fc.stringMatching(/^[!-~]([ -~]{0,300}[!-~])?$/);
    await fc.assert(
      fc.asyncProperty(value, value, async (answered, asked) => {
        fields = { 'x-value': answered, server: answered };
        const headers = await exchange([['x-asked', asked]]);
        expect([headers.get(':status'), headers.get('x-value'), headers.get('server')]).toEqual([
          '204',
          answered,
          answered,
        ]);
        expect(heard['x-asked']).toBe(asked);
      }),
      { numRuns: fuzzRuns(100) },
    );
  });
});
