import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Status, standIn } from '../testing/stand-in.test-fixtures.ts';
import { exchange } from './exchange.ts';

const TIMEOUT_MS = 5000;

/** Takes connections, and does as it is told once something is asked. */
async function listening(serve: (socket: Socket) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', () => serve(socket));
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

test('the answer is its status, its text and the time of the server', async () => {
  const { url } = await standIn({ '/a': new Status(418, 'x') });
  expect(await exchange(new URL(`${url}/a`), { timeoutMs: TIMEOUT_MS })).toEqual({
    status: 418,
    text: 'x',
    date: expect.stringMatching(/ GMT$/),
  });
});

test('a body is sent as JSON, beside the headers that are given', async () => {
  const { url, asked } = await standIn({ 'POST /a': {} });
  const options = { method: 'POST', headers: { accept: 'text/plain' }, timeoutMs: TIMEOUT_MS };
  await exchange(new URL(`${url}/a`), { ...options, body: '{"n":1}' });
  expect(asked[0]).toMatchObject({
    body: { n: 1 },
    headers: { accept: 'text/plain', 'content-type': 'application/json' },
  });
});

test('without a body nothing is said of its type', async () => {
  const { url, asked } = await standIn({ '/a': {} });
  await exchange(new URL(`${url}/a`), { timeoutMs: TIMEOUT_MS });
  expect(asked[0]?.headers).not.toHaveProperty('content-type');
});

test('who does not answer in time is named with the time', async () => {
  const url = await listening(() => {});
  await expect(exchange(url, { timeoutMs: 30 })).rejects.toThrow(`${url.host} did not answer within 0.03 s`);
});

test('a connection that is refused, or lost within an answer, is an error', async () => {
  await expect(exchange(new URL('http://127.0.0.1:1/'), { timeoutMs: TIMEOUT_MS })).rejects.toThrow('ECONNREFUSED');
  const url = await listening((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab'));
  await expect(exchange(url, { timeoutMs: TIMEOUT_MS })).rejects.toThrow('aborted');
});

test('a server that speaks TLS is spoken to by TLS', async () => {
  const url = await listening((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
  await expect(exchange(new URL(url.href.replace('http', 'https')), { timeoutMs: TIMEOUT_MS })).rejects.toThrow(
    'wrong version number',
  );
});
