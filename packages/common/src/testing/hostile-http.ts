import { request } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { fuzzRuns } from './fuzz.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'CONNECT', 'TRACE', 'PRI', 'M-SEARCH', 'get', ''];
const TARGETS = [
  '*',
  '//',
  '///',
  '/\\',
  '/%',
  '/%00',
  '/%ff%fe',
  '/%2e%2e/',
  '/..',
  '/.',
  '?',
  '#',
  '@',
  ':',
  '[',
  ']',
  '\t',
  ' ',
  '\0',
  '\x7f',
  'é',
  'http://',
  'https://[::1',
  '169.254.169.254',
  '/x'.repeat(4000),
];
const HEADERS = [
  'Host: x',
  'Host: [::1',
  'Host: localhost, x',
  'Host: 127.0.0.1',
  'Connection: close',
  'Connection: keep-alive, Upgrade, Host',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'HTTP2-Settings: AAMAAABk',
  'Content-Length: 5',
  'Content-Length: 5, 5',
  'Content-Length: -1',
  'Content-Length: 18446744073709551616',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: xchunked',
  'Expect: 100-continue',
  'Expect: miracles',
  'Content-Type: application/json',
  'Content-Encoding: gzip',
  'Last-Event-ID: \t',
  'X-Rollcall-Forwarded: 1',
  'Authorization: Bearer',
  'Accept-Encoding: *;q=0',
  'Cookie: a=b',
  ': nothing',
  'No colon',
  ' Folded: x',
  `Long: ${'y'.repeat(20_000)}`,
  'X: \0',
];
const BODIES = [
  '',
  '5\r\nhello\r\n0\r\n\r\n',
  'ffffffffffffffff\r\n',
  '{"a":',
  'hello',
  'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
];

/**
 * Requests at which a listener once failed, or fails if a fault is planted there. Each property begins with them; add what a
 * run finds.
 */
const FOUND_REQUESTS: [Buffer][] = [
  'GET //127.0.0.1:1/x',
  'GET http://127.0.0.1:1/x',
  'GET http://@',
  'GET https://[::1',
  'GET /v1/nodes/%',
  'GET /healthz/%ff%fe',
  'POST /v1/diff',
  'OPTIONS *',
].map((line) => [Buffer.from(`${line} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)]);
// Each was answered before the next was read, and the answers filled the memory.
FOUND_REQUESTS.push([Buffer.from('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(1500))]);

/** Generates the bytes of a request with a few faults, or of several; `paths` are those that the listener serves. */
export function hostileRequests(paths: readonly string[]): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    fc.constantFrom(...paths),
    fc.constantFrom(...TARGETS),
    fc.string({ unit: 'binary', maxLength: 8 }),
  );
  // Mostly proper, since the parser of HTTP refuses a request with many faults.
  const mostly = <T>(proper: T, others: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(proper) }, { weight: 2, arbitrary: others });
  const one = fc
    .record({
      method: mostly('GET', fc.constantFrom(...METHODS)),
      target: fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join('')),
      version: fc.oneof({ weight: 8, arbitrary: fc.constant('HTTP/1.1') }, fc.constantFrom('HTTP/1.0', 'HTTP/2.0', '')),
      headers: mostly(['Host: 127.0.0.1'], fc.array(fc.constantFrom(...HEADERS), { maxLength: 6 })),
      end: fc.oneof({ weight: 8, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r')),
      body: mostly('', fc.constantFrom(...BODIES)),
    })
    .map(({ method, target, version, headers, end, body }) => {
      const lines = [`${method} ${target} ${version}`, ...headers];
      return Buffer.from(`${lines.join(end)}${end}${end}${body}`, 'latin1');
    });
  return fc.oneof(
    { weight: 8, arbitrary: one },
    { weight: 1, arbitrary: fc.array(one, { minLength: 2, maxLength: 3 }).map((all) => Buffer.concat(all)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)) },
  );
}

/**
 * Settings of a property of one request. It ends at the first failure: a smaller request that gets no answer would be found
 * by waiting {@link STUCK_MS} for each of a hundred.
 */
export function requestProperty(runs: number): fc.Parameters<[Buffer]> {
  return { numRuns: fuzzRuns(runs), examples: FOUND_REQUESTS, endOnFailure: true };
}

/** For how long a listener that says nothing is waited for. */
const IDLE_MS = 50;
/** After so long, a request gets no answer any more: its handler has failed. */
export const STUCK_MS = 10_000;

/**
 * Sends bytes over a connection of its own, and ends it when nothing comes back any more. Resolves to what came back when
 * the connection has closed.
 */
export function sendBytes(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A reset ends a connection as well.
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    // Not half-closed at once: a server of Node.js drops a request whose client has ended the connection.
    socket.setTimeout(IDLE_MS, () => {
      socket.end();
      socket.setTimeout(STUCK_MS, () => {
        socket.destroy();
        reject(new Error(`The connection was not closed within ${STUCK_MS / 1000} s`));
      });
    });
    socket.write(bytes);
  });
}

/** Statuses with which the listeners answer after an exception. */
const EXCEPTION_STATUSES = [500, 502];

/** Says what is wrong with the bytes that came back; `undefined` for none, and for those that begin as a response. */
export function problemOfResponse(text: string): string | undefined {
  if (text === '') return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0);
  if (status === 0) return `The response begins with ${JSON.stringify(text.slice(0, 40))}`;
  return EXCEPTION_STATUSES.includes(status) ? `The response is ${JSON.stringify(text.slice(0, 400))}` : undefined;
}

/** Status of a GET with nothing wrong in it. */
export function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    outgoing.once('error', reject);
    outgoing.setTimeout(STUCK_MS, () => outgoing.destroy(new Error(`No answer within ${STUCK_MS / 1000} s`)));
    outgoing.end();
  });
}
