import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import { requestProperty, STUCK_MS, sendBytes } from '@rollcall/common/testing/hostile-http.ts';
import { REPORT_BODY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sample, send, sendRaw, startReportsServer, wire } from './reports-server.test-fixtures.ts';

const report = wire({ node: 'n1', boot: 'b', sequence: 1, digest: 'd' });
const REQUEST = [
  'POST /v1/reports HTTP/1.1',
  'Host: coordinator',
  'Authorization: Bearer good',
  'Content-Type: application/json',
  `Content-Length: ${report.length}`,
  '',
  report,
].join('\r\n');

let server: Awaited<ReturnType<typeof startReportsServer>>;

beforeAll(async () => {
  server = await startReportsServer({ requestTimeoutMs: 500, rateLimit: { burst: 1_000_000, intervalMs: 0.001 } });
});

afterAll(() => server.stop());

/** Nothing but whole answers with a status that this server gives. */
function expectProperAnswers(text: string): void {
  const heads = text.match(/HTTP\/1\.1 \d{3} /g) ?? [];
  if (text !== '') expect(text.startsWith('HTTP/1.1 ')).toBe(true);
  for (const head of heads) {
    expect(head).toMatch(/ (100|200|400|401|403|404|405|408|411|413|415|417|422|429|431|503) $/);
  }
}

async function expectServing(): Promise<void> {
  const other = { headers: { authorization: 'Bearer bad' }, signal: AbortSignal.timeout(STUCK_MS) };
  expect(await send(server.port, report, other)).toMatchObject({ status: 401 });
}

describe('hostile bytes', () => {
  it('of any kind are answered properly or not at all, and the next client is served', async () => {
    const bytes = fc.uint8Array({ maxLength: 600 }).map((array) => Buffer.from(array));
    await fc.assert(
      fc.asyncProperty(bytes, async (garbage) => {
        expectProperAnswers(await sendBytes(server.port, garbage));
      }),
      requestProperty(60),
    );
    await expectServing();
  });

  it('in the middle of a proper request do no harm', async () => {
    const mutation = fc.record({
      at: fc.nat({ max: REQUEST.length }),
      drop: fc.nat({ max: 20 }),
      insert: fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array).toString('latin1')),
      again: fc.boolean(),
    });
    const statuses = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(mutation, async ({ at, drop, insert, again }) => {
        const text = REQUEST.slice(0, at) + insert + REQUEST.slice(at + drop) + (again ? REQUEST : '');
        const answer = await sendBytes(server.port, Buffer.from(text, 'latin1'));
        expectProperAnswers(answer);
        statuses.add(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
      }),
      {
        numRuns: fuzzRuns(120),
        endOnFailure: true,
        examples: [
          [{ at: 0, drop: 0, insert: '', again: false }],
          [{ at: REQUEST.length - 1, drop: 1, insert: '!', again: false }],
        ],
      },
    );
    expect([...statuses]).toEqual(expect.arrayContaining(['200', '400']));
    await expectServing();
  });

  it('as a body are refused as what they are', async () => {
    server.surroundings.nodes.set('n1', 'uid-1');
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (array) => {
        const { status, body } = await send(server.port, Buffer.from(array), { signal: AbortSignal.timeout(STUCK_MS) });
        expect([400, 422]).toContain(status);
        expect(JSON.parse(body)).toMatchObject({ status });
      }),
      { numRuns: fuzzRuns(60), endOnFailure: true },
    );
  });

  const head = (extra: string, line = 'POST /v1/reports HTTP/1.1') =>
    `${line}\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n${extra}\r\n`;

  it.each([
    ['a chunk that never ends', `${head('Transfer-Encoding: chunked\r\n')}ff\r\n{"node"`],
    ['a chunk size that is no number', `${head('Transfer-Encoding: chunked\r\n')}zz\r\n{}\r\n0\r\n\r\n`],
    ['a chunk size beyond all bounds', `${head('Transfer-Encoding: chunked\r\n')}ffffffffffffffffff\r\n{}`],
    ['an endless chunk extension', `${head('Transfer-Encoding: chunked\r\n')}1;${'x'.repeat(40_000)}`],
    [
      'both lengths at once',
      `${head('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
    ],
    ['two lengths', `${head('Content-Length: 5\r\nContent-Length: 6\r\n')}{}{}{}`],
    ['a negative length', `${head('Content-Length: -1\r\n')}{}`],
    ['a length beyond all bounds', head('Content-Length: 99999999999999999999999\r\n')],
    ['a thousand headers', head(Array.from({ length: 1000 }, (_, index) => `x${index}: y\r\n`).join(''))],
    ['a header without an end', `POST /v1/reports HTTP/1.1\r\nx: ${'y'.repeat(100_000)}`],
    ['a path without an end', `POST /${'y'.repeat(100_000)}`],
    ['line feeds alone', REQUEST.replaceAll('\r\n', '\n')],
    ['header folding', head('X-Folded: a\r\n b\r\n')],
    ['a null byte in a header', head('X-Null: a\0b\r\n')],
    ['no host', 'POST /v1/reports HTTP/1.1\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', 'POST /v1/reports\r\n'],
    ['HTTP/1.0', REQUEST.replace('HTTP/1.1', 'HTTP/1.0')],
    ['a wish for another protocol', `${head('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n')}{}`],
    ['a tunnel', 'CONNECT example:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an expectation that the server does not meet', `${head('Expect: miracles\r\nContent-Length: 2\r\n')}{}`],
    ['a TLS handshake', Buffer.from('1603010200010001fc0303', 'hex')],
    ['a thousand requests at once', 'GET /v1/reports HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000)],
  ])('such as %s end in time', async (_what, bytes) => {
    expectProperAnswers(await sendRaw(server.port, bytes, { end: true }));
    expectProperAnswers(await sendRaw(server.port, bytes));
    await expectServing();
  });

  it('as endless chunks are refused for want of a length', async () => {
    server.surroundings.nodes.set('n1', 'uid-1');
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const answer = await sendRaw(
      server.port,
      head('Transfer-Encoding: chunked\r\n') + chunk.repeat(REPORT_BODY_BYTES_MAX / 0x10000 + 1),
    );
    expect(answer).toMatch(/^HTTP\/1.1 411 /);
  });

  it('leave no connection behind', async () => {
    await expect
      .poll(() => sample(server.registry, 'rollcall_coordinator_report_connections'), { timeout: 5000 })
      .toBe(0);
  });
});
