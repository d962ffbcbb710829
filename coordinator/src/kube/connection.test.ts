import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import type { ApiAccess } from './api-access.ts';
import { Connection } from './connection.ts';
import { readText, sendRequest } from './exchange.ts';

function started(change: Partial<ApiAccess> = {}) {
  const clock = new FakeClock();
  const counts = { options: 0, renewals: 0 };
  const access: ApiAccess = {
    server: 'https://[::1]:6443/prefix/',
    viaProxy: false,
    options: async () => {
      counts.options += 1;
      return { headers: {} };
    },
    renew: () => {
      counts.renewals += 1;
    },
    ...change,
  };
  return { clock, counts, connection: new Connection(access, { maxSockets: 1, clock }) };
}

test.each([
  ['https://[::1]:6443/prefix/', { protocol: 'https:', host: '::1', port: '6443', basePath: '/prefix' }],
  ['https://api.example.com', { protocol: 'https:', host: 'api.example.com', port: 443, basePath: '' }],
  ['http://127.0.0.1/', { protocol: 'http:', host: '127.0.0.1', port: 80, basePath: '' }],
])('requests to %s go there', async (server, destination) => {
  expect(await started({ server }).connection.destination('request')).toMatchObject(destination);
});

test('requests and streams have sockets of their own, unless there is a proxy', async () => {
  const { connection } = started();
  const [request, stream] = [await connection.destination('request'), await connection.destination('stream')];
  expect(request.agent).not.toBe(stream.agent);
  const proxy = {} as never;
  const options = async () => ({ headers: {}, agent: proxy });
  expect((await started({ options, viaProxy: true }).connection.destination('request')).agent).toBe(proxy);
  expect((await started({ options }).connection.destination('request')).agent).not.toBe(proxy);
});

test('credentials are used for five seconds', async () => {
  const { clock, connection, counts } = started();
  await clock.advance(60_000);
  await connection.destination('request');
  await clock.advance(4999);
  await connection.destination('stream');
  expect(counts.options).toBe(1);
  await clock.advance(1);
  await connection.destination('request');
  expect(counts.options).toBe(2);
});

test('credentials that could not be had are asked for again at once', async () => {
  let tries = 0;
  const { connection } = started({
    options: async () => {
      tries += 1;
      if (tries === 1) throw new Error('on purpose');
      return { headers: {} };
    },
  });
  await expect(connection.destination('request')).rejects.toThrow('on purpose');
  await connection.destination('request');
  expect(tries).toBe(2);
});

test('credentials that are not accepted are got anew at once, and again after ten seconds', async () => {
  const { clock, connection, counts } = started();
  await connection.destination('request');
  expect(connection.renew()).toBe(true);
  await connection.destination('request');
  expect(counts).toEqual({ options: 2, renewals: 1 });
  await clock.advance(9999);
  expect(connection.renew()).toBe(false);
  await clock.advance(1);
  expect(connection.renew()).toBe(true);
  expect(counts.renewals).toBe(2);
});

test.each(['request', 'stream'] as const)('a %s that is under way fails when all is closed', async (use) => {
  const server = createServer((_request, response) => response.writeHead(200).write('half'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { connection } = started({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const wire = { method: 'GET', path: '/', headers: {}, body: undefined };
  const response = await sendRequest(await connection.destination(use), wire, new AbortController().signal);
  connection.close();
  await expect(readText(response, 100)).rejects.toMatchObject({ code: 'ECONNRESET' });
  server.closeAllConnections();
  server.close();
});
