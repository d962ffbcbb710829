import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHttpServer } from './http-connection.ts';
import { closeServer, listen } from './http-server.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await closeServer(server, 0);
});

const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
const HEAD_OF_CHUNKS = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';

/** A server that counts the requests that are handled, and a client of it. */
async function setUp(
  listener: RequestListener = (_request, response) => void response.end('hello'),
  { allowHalfOpen = false } = {},
) {
  let handled = 0;
  const server = createHttpServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    handled += 1;
    listener(request, response);
  });
  servers.push(server);
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen }).on('error', () => {});
  sockets.push(socket);
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const ended = new Promise((resolve) => socket.once('end', resolve));
  await once(socket, 'connect');
  const answers = () => text.match(/HTTP\/1\.1 \d+/g) ?? [];
  return { server, socket, closed, ended, answers, handled: () => handled, text: () => text };
}

describe('a client that does not wait for its answer', () => {
  test('loses its connection, and none of its requests is handled', async () => {
    const { socket, closed, answers, handled } = await setUp();
    socket.write(GET.repeat(1500));
    await closed;
    expect([answers(), handled()]).toEqual([[], 0]);
  });

  test('loses its connection also when the second request comes later', async () => {
    const { server, socket, closed, handled } = await setUp(() => {});
    const asked = once(server, 'request');
    socket.write(GET);
    await asked;
    socket.write(GET);
    await closed;
    expect(handled()).toBe(1);
  });

  test('loses its connection when it does not read what was answered', async () => {
    const large = Buffer.alloc(32 * 1024 * 1024);
    const { server, socket, closed, handled } = await setUp((_request, response) => void response.end(large));
    socket.pause();
    const asked = once(server, 'request');
    socket.write(GET);
    await asked;
    await sleep(50);
    socket.write(GET);
    socket.resume();
    await closed;
    expect(handled()).toBe(1);
  });

  test.each([
    ['without a Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['that expect what no server does', `GET / HTTP/1.1\r\nhost: a\r\nexpect: miracles\r\n\r\n`],
    ['of HTTP/1.0', 'GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n'],
    ['with a body', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx'],
  ])('causes no more than one answer with requests %s', async (_what, request) => {
    const { socket, closed } = await setUp();
    const { ServerResponse } = process.getBuiltinModule('node:http');
    // Node.js makes some answers by itself, many of which it would not send.
    const writeHead = vi.spyOn(ServerResponse.prototype, 'writeHead');
    onTestFinished(() => writeHead.mockRestore());
    socket.write(request.repeat(500));
    await closed;
    expect(writeHead.mock.calls.length).toBeLessThanOrEqual(1);
  });

  test('loses its connection when it asks for tunnels', async () => {
    const { socket, closed, handled } = await setUp();
    socket.write('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(500));
    await closed;
    expect(handled()).toBe(0);
  });

  test('gets one answer when it asks for another protocol: Node.js drops what follows in the same read', async () => {
    const { socket, answers, handled } = await setUp();
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: b\r\n\r\n'.repeat(500));
    await expect.poll(() => answers().length).toBe(1);
    await sleep(50);
    expect([answers().length, handled()]).toEqual([1, 1]);
  });
});

test('a client that waits for its answers keeps its connection', async () => {
  const { socket, answers, handled } = await setUp();
  for (let asked = 1; asked <= 20; asked += 1) {
    socket.write(GET);
    await expect.poll(() => answers().length).toBe(asked);
  }
  expect(handled()).toBe(20);
  expect(socket.destroyed).toBe(false);
});

test('a request whose body comes in the same read is complete when it is answered', async () => {
  const { socket, answers } = await setUp();
  const post = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc';
  for (let asked = 1; asked <= 3; asked += 1) {
    socket.write(post);
    await expect.poll(() => answers().length).toBe(asked);
  }
  expect(socket.destroyed).toBe(false);
});

describe('an answer to a request that is not complete', () => {
  test('says that it is the last one, and arrives', async () => {
    const { socket, ended, text } = await setUp();
    socket.write(HEAD_OF_CHUNKS);
    await ended;
    expect(text()).toMatch(/connection: close/i);
    expect(text()).toMatch(/hello$/);
  });

  test('ends the connection within a second or two, without parsing what the client still sends', async () => {
    const { server, socket, ended, closed } = await setUp(undefined, { allowHalfOpen: true });
    let parsed = 0;
    server.on('request', (request) => request.on('data', () => (parsed += 1)));
    socket.write(HEAD_OF_CHUNKS);
    await ended;
    const more = setInterval(() => socket.write('1\r\nx\r\n'.repeat(1000)), 20);
    await closed;
    clearInterval(more);
    expect(parsed).toBe(0);
  });

  test('does the same where the answer has only begun', async () => {
    const { server, socket, closed } = await setUp((_request, response) => void response.write('hello'));
    let parsed = 0;
    server.on('request', (request) => request.on('data', () => (parsed += 1)));
    socket.write(HEAD_OF_CHUNKS);
    await once(socket, 'data');
    const more = setInterval(() => socket.write('1\r\nx\r\n'.repeat(1000)), 20);
    await Promise.race([closed, sleep(10_000)]);
    clearInterval(more);
    expect([parsed, socket.destroyed]).toEqual([0, true]);
  });

  test('ends the connection after 1 MiB', async () => {
    const { socket, ended, closed } = await setUp(undefined, { allowHalfOpen: true });
    socket.write(HEAD_OF_CHUNKS);
    await ended;
    const startMs = performance.now();
    socket.write(Buffer.alloc(64 * 1024 * 1024));
    await closed;
    expect(socket.bytesWritten).toBeGreaterThan(0);
    expect(performance.now() - startMs).toBeLessThan(30_000);
  });
});

test('a client that sends its request in countless small pieces loses its connection', async () => {
  const { socket, closed, handled } = await setUp((request) => void request.resume());
  socket.setNoDelay();
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n');
  let sent = 0;
  while (!socket.destroyed && sent < 5000) {
    socket.write('x');
    sent += 1;
    // Gives the server, which shares the event loop, a read for each piece.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  expect(handled()).toBe(1);
  expect(sent).toBeLessThan(5000);
});

describe('a client that sends empty lines in the place of a request', () => {
  const LINES = '\r\n'.repeat(16_384);

  /** Sends lines until the connection ends, at most 64 MiB. */
  async function flood(socket: Socket, closed: Promise<unknown>): Promise<void> {
    for (let sent = 0; sent < 2048 && !socket.destroyed; sent += 1) {
      if (!socket.write(LINES)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
  }

  test('loses its connection after some KiB', async () => {
    const { socket, closed, handled } = await setUp();
    await flood(socket, closed);
    expect(socket.destroyed).toBe(true);
    expect(handled()).toBe(0);
  });

  test('loses it also after an answer', async () => {
    const { socket, closed, answers } = await setUp();
    socket.write(GET);
    await expect.poll(() => answers().length).toBe(1);
    await flood(socket, closed);
    expect(socket.destroyed).toBe(true);
  });
});

test('a client whose request has the largest head and a large body keeps its connection', async () => {
  const { socket, answers } = await setUp((request, response) => {
    request.resume().on('end', () => response.end());
  });
  const head = `POST / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(16_000)}\r\ncontent-length: 1000000\r\n\r\n`;
  for (let asked = 1; asked <= 10; asked += 1) {
    socket.write(head + 'x'.repeat(1_000_000));
    await expect.poll(() => answers().length).toBe(asked);
  }
  expect(socket.destroyed).toBe(false);
});
