import { createServer, type RequestListener, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { ask } from './console.test-fixtures.ts';
import { forwardTo } from './console-server.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listening(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A standby that passes everything on to a leader, and answers 599 by itself where it cannot. */
async function standby(leaderUrl: string) {
  const clock = new FakeClock();
  const port = await listening((asked, response) => {
    void forwardTo(leaderUrl, asked, response, clock).then((isDone) => {
      if (!isDone) response.writeHead(599).end();
    });
  });
  return { clock, port, ask: (path: string, options?: Parameters<typeof ask>[2]) => ask(port, path, options) };
}

test('a question goes to the leader as it came, marked as passed on', async () => {
  const heard: unknown[] = [];
  const leader = await listening(async (asked, response) => {
    const body = Buffer.concat(await asked.toArray()).toString();
    const { 'x-rollcall-forwarded': mark, 'last-event-id': last, 'content-type': type, cookie } = asked.headers;
    heard.push([asked.method, asked.url, mark, last, type, cookie, body]);
    response.end();
  });
  const { ask } = await standby(`http://127.0.0.1:${leader}`);
  await ask('/v1/nodes?a=b');
  const headers = { 'last-event-id': 'a.1', 'content-type': 'application/json', cookie: 'secret' };
  await ask('/v1/diff', { method: 'POST', headers, body: '{"a":1}' });
  expect(heard).toEqual([
    ['GET', '/v1/nodes?a=b', '1', undefined, undefined, undefined, ''],
    ['POST', '/v1/diff', '1', 'a.1', 'application/json', undefined, '{"a":1}'],
  ]);
});

test('the body of a GET is not forwarded, since it would follow the head without a length', async () => {
  let heard = '';
  const leader = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard += chunk;
      // The body may come after the head.
      setTimeout(() => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), 100);
    });
  });
  await new Promise<void>((resolve) => leader.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void leader.close());
  const { ask } = await standby(`http://127.0.0.1:${(leader.address() as AddressInfo).port}`);
  const body = 'POST /v1/diff HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n';
  await ask('/v1/nodes', { headers: { 'content-length': String(body.length) }, body });
  expect(heard).toMatch(/^GET \/v1\/nodes HTTP\/1\.1\r\n/);
  expect(heard).not.toContain('POST');
});

test('the answer comes back as it was, with the headers that say how to read it', async () => {
  const leader = await listening((_request, response) => {
    const headers = { 'content-type': 'text/x', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
    response.writeHead(404, { ...headers, 'set-cookie': 'a=b' }).end('not there');
  });
  const { ask } = await standby(`http://127.0.0.1:${leader}`);
  const { status, headers, text } = await ask('/');
  expect([status, text]).toEqual([404, 'not there']);
  expect(headers).toMatchObject({
    'content-type': 'text/x',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(headers['set-cookie']).toBeUndefined();
});

test('a leader that does not answer within 3 s, or is not there, is left to the asker', async () => {
  const leader = await listening(() => {});
  const { clock, ask } = await standby(`http://127.0.0.1:${leader}`);
  let answered: number | undefined;
  const asking = ask('/').then(({ status }) => {
    answered = status;
  });
  await expect.poll(() => clock.pendingTimers, { interval: 5 }).toBe(1);
  await clock.advance(2999);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(answered).toBeUndefined();
  await clock.advance(1);
  await asking;
  expect(answered).toBe(599);
  const alone = await standby('http://127.0.0.1:1');
  expect((await alone.ask('/')).status).toBe(599);
  expect(alone.clock.pendingTimers).toBe(0);
});

test('an answer that has begun may take as long as it likes', async () => {
  const leader = Promise.withResolvers<ServerResponse>();
  const { clock, ask } = await standby(
    `http://127.0.0.1:${await listening((_request, response) => leader.resolve(response))}`,
  );
  const asking = ask('/');
  const response = await leader.promise;
  expect(clock.pendingTimers).toBe(1);
  response.write('a');
  await expect.poll(() => clock.pendingTimers, { interval: 5 }).toBe(0);
  await clock.advance(60_000);
  response.end('b');
  expect((await asking).text).toBe('ab');
});

test('an answer that breaks off at the leader breaks off at the asker', async () => {
  const leader = await listening((_request, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('a', () => response.destroy());
  });
  const { ask } = await standby(`http://127.0.0.1:${leader}`);
  await expect(ask('/')).rejects.toThrow();
});

test('the leader is asked no more when the asker is gone', async () => {
  const closed = Promise.withResolvers<void>();
  const leader = await listening((asked, response) => {
    response.write('a');
    asked.socket.once('close', () => closed.resolve());
  });
  const { port } = await standby(`http://127.0.0.1:${leader}`);
  const outgoing = request({ host: '127.0.0.1', port, agent: false }).end();
  outgoing.once('response', () => outgoing.destroy());
  await closed.promise;
});

test.each(['https://127.0.0.1:1', 'not an address'])('%s is no leader that can be asked', async (leader) => {
  const { ask, clock } = await standby(leader);
  expect((await ask('/')).status).toBe(599);
  expect(clock.pendingTimers).toBe(0);
});
