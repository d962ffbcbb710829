import { Agent, type ClientRequest, createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readText, StaleSocketError, sendRequest, statusError } from './exchange.ts';

it('tells why the connection broke while the answer was read', async () => {
  const server = createServer((_request, response) => response.writeHead(200).write('half'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const wire = { method: 'GET', path: '/', headers: {}, body: undefined };
  const destination = { protocol: 'http:' as const, host: '127.0.0.1', port, basePath: '' };
  const response = await sendRequest(destination, wire, new AbortController().signal);
  // As the kernel does when its probes are not answered.
  response.socket.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
  await expect(readText(response, 100)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  server.closeAllConnections();
  server.close();
});

it.each([301, 302, 307, 308])(
  'follows no redirect: %i is an answer, and nothing is sent to where it points',
  async (status) => {
    const asked: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const wire = { method: 'GET', path: '/', headers: { authorization: 'Bearer secret' }, body: undefined };
    const destination = { protocol: 'http:' as const, host: '127.0.0.1', port, basePath: '' };
    const response = await sendRequest(destination, wire, new AbortController().signal);
    await readText(response, 100);
    expect([response.statusCode, asked]).toEqual([status, ['/']]);
    server.closeAllConnections();
    server.close();
  },
);

it('reads as many bytes as it may, and not one more', async () => {
  const answer = () => Readable.from([Buffer.from('four'), Buffer.from('more')]) as IncomingMessage;
  expect(await readText(answer(), 8)).toBe('fourmore');
  await expect(readText(answer(), 7)).rejects.toMatchObject({
    code: 'KUBE_UNREACHABLE',
    message: 'The answer is larger than 7 bytes',
  });
});

/** The connection breaks, with `code`, as soon as it is used again. */
class BreakingAgent extends Agent {
  readonly #code: string;

  constructor(code: string) {
    super({ keepAlive: true });
    this.#code = code;
  }

  override reuseSocket(socket: Socket, request: ClientRequest): void {
    super.reuseSocket(socket, request);
    setImmediate(() => socket.destroy(Object.assign(new Error('on purpose'), { code: this.#code })));
  }
}

it.each([
  ['ECONNRESET', true],
  ['EPIPE', true],
  ['ETIMEDOUT', false],
])('takes an idle connection that breaks with %s for one that was closed: %s', async (code, isStale) => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    if (requests === 1) response.end('first');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new BreakingAgent(code);
  const destination = { protocol: 'http:' as const, host: '127.0.0.1', port, basePath: '', agent };
  const wire = { method: 'GET', path: '/', headers: {}, body: undefined };
  const { signal } = new AbortController();
  await readText(await sendRequest(destination, wire, signal), 100);
  await new Promise(setImmediate);
  const error = await sendRequest(destination, wire, signal).then(
    () => undefined,
    (err: Error) => err,
  );
  expect(error instanceof StaleSocketError ? error.cause : error).toMatchObject({ code });
  expect(error instanceof StaleSocketError).toBe(isStale);
  server.closeAllConnections();
  server.close();
});

it('sends nothing for an answer that is no longer wanted', async () => {
  // No server listens there.
  const destination = { protocol: 'http:' as const, host: '127.0.0.1', port: 1, basePath: '' };
  const wire = { method: 'GET', path: '/', headers: {}, body: undefined };
  const reason = new Error('stopping');
  await expect(sendRequest(destination, wire, AbortSignal.abort(reason))).rejects.toBe(reason);
});

describe('an error', () => {
  const answer = (text: string) =>
    Object.assign(Readable.from([Buffer.from(text)]), { statusCode: 502, headers: {} }) as unknown as IncomingMessage;

  it('that is a page and no Status is told by the beginning of its text', async () => {
    expect((await statusError(answer(` ${'x'.repeat(300)}`), {})).message).toBe('x'.repeat(200));
  });

  it('keeps all that the API server says of it', async () => {
    const details = { reason: 'Conflict', details: { causes: [{ reason: 'FieldManagerConflict' }] } };
    expect((await statusError(answer(JSON.stringify(details)), {})).details).toEqual(details);
  });

  it('is read up to a mebibyte', async () => {
    const bytesMax = 1024 * 1024;
    expect(await statusError(answer('x'.repeat(bytesMax)), {})).toMatchObject({ status: 502 });
    await expect(statusError(answer('x'.repeat(bytesMax + 1)), {})).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE' });
  });
});
