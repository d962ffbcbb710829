import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  CONNECTIONS_MAX,
  closeServer,
  connectionKey,
  createPlainServer,
  listen,
  makeRoom,
  parseListenAddress,
} from './http-server.ts';

describe('parseListenAddress', () => {
  test.each([
    ['0.0.0.0:8086', { host: '0.0.0.0', port: 8086 }],
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    [':8086', { host: '::', port: 8086 }],
    ['localhost:65535', { host: 'localhost', port: 65_535 }],
    ['[::1]:80', { host: '::1', port: 80 }],
    ['off', undefined],
  ])('reads %s', (text, address) => {
    expect(parseListenAddress(text)).toEqual({ address });
  });

  test.each(['', '8086', 'host', 'host:', 'host:65536', 'host:-1', '::1:80', '[::1]', '[]:80', 'host:80x', 'OFF'])(
    'refuses "%s"',
    (text) => {
      expect(parseListenAddress(text)).toHaveProperty('problem');
    },
  );
});

describe('a server', () => {
  const servers: ReturnType<typeof createServer>[] = [];
  const server = () => {
    const made = createPlainServer((_request, response) => response.end('hello'));
    servers.push(made);
    return made;
  };

  afterEach(async () => {
    for (const open of servers.splice(0)) await closeServer(open, 0);
  });

  test('says which port it got when any would do', async () => {
    const bound = await listen(server(), { host: '127.0.0.1', port: 0 });
    expect(bound.host).toBe('127.0.0.1');
    expect(bound.port).toBeGreaterThan(0);
  });

  test('answers over IPv4 and IPv6 when it listens everywhere', async () => {
    const { port } = await listen(server(), { host: '::', port: 0 });
    for (const host of ['127.0.0.1', '::1']) {
      const client = connect(port, host);
      await once(client, 'connect');
      client.destroy();
    }
  });

  test('listens on all addresses of IPv4 on a kernel without IPv6', async () => {
    const made = server();
    const real = made.listen.bind(made);
    // What such a kernel says; there is none at hand, and one that has IPv6 switched off (sysctl) takes `::` all the same.
    made.listen = ((options: { port: number; host: string }, onListening: () => void) => {
      if (options.host !== '::') return real(options, onListening);
      setImmediate(() => made.emit('error', Object.assign(new Error('listen'), { code: 'EAFNOSUPPORT' })));
      return made;
    }) as typeof made.listen;
    expect(await listen(made, { host: '::', port: 0 })).toMatchObject({ host: '0.0.0.0' });
  });

  test('says LISTEN_FAILED, and where, when the port is taken', async () => {
    const { port } = await listen(server(), { host: '127.0.0.1', port: 0 });
    await expect(listen(server(), { host: '127.0.0.1', port })).rejects.toThrow(
      expect.objectContaining({ code: 'LISTEN_FAILED', fields: { address: `127.0.0.1:${port}` } }),
    );
  });

  test.runIf(process.platform === 'linux')(
    'answers within few turns of the event loop although many connections wait to be accepted',
    async () => {
      const { port } = await listen(server(), { host: '127.0.0.1', port: 0 });
      const waiting = Array.from({ length: 160 }, () => connect(port, '127.0.0.1').on('error', () => {}));
      const client = connect(port, '127.0.0.1');
      client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      let turns = 0;
      const count = setInterval(() => {
        turns += 1;
        // The kernel has them all by now, and each turn takes as long as in a program that works.
        const endMs = performance.now() + 10;
        while (performance.now() < endMs);
      });
      await once(client, 'data');
      clearInterval(count);
      for (const each of [client, ...waiting]) each.destroy();
      expect(turns).toBeLessThan(80);
    },
  );

  test('outlives connections that could not be accepted', async () => {
    const open = server();
    await listen(open, { host: '127.0.0.1', port: 0 });
    // What Node.js does when accept(2) fails, for want of descriptors for instance.
    open.emit('error', new Error('EMFILE'));
    open.emit('error', new Error('EMFILE'));
    expect(open.listening).toBe(true);
  });

  test('is closed after the grace even while a request is under way', async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
    const open = createPlainServer(() => onAsked());
    const { port } = await listen(open, { host: '127.0.0.1', port: 0 });
    const client = connect(port, '127.0.0.1');
    const cut = new Promise((resolve) => client.on('close', resolve));
    client.on('error', () => {});
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await asked;
    await closeServer(open, 20);
    await cut;
    expect(open.listening).toBe(false);
  });

  test('closes the connection that was unused for longest when there is no room for another', async () => {
    const open = server();
    let accepted = 0;
    open.on('connection', () => {
      accepted += 1;
    });
    const { port } = await listen(open, { host: '127.0.0.1', port: 0 });
    const closed: number[] = [];
    const clients = await Promise.all(
      Array.from({ length: CONNECTIONS_MAX }, async (_, index) => {
        const client = connect(port, '127.0.0.1');
        client.on('close', () => closed.push(index)).on('error', () => {});
        await once(client, 'connect');
        return client;
      }),
    );
    const ask = async (client: Socket) => {
      client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      expect(String((await once(client, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
    };
    await expect.poll(() => accepted).toBe(CONNECTIONS_MAX);
    // All are used but one, and it is not the first.
    for (const [index, client] of clients.entries()) if (index !== 7) await ask(client);
    const newcomer = connect(port, '127.0.0.1');
    await ask(newcomer);
    await expect.poll(() => closed).toEqual([7]);
    for (const client of [newcomer, ...clients]) client.destroy();
  });

  test('limits the time of a request, and the time of a connection without one', () => {
    expect(server()).toMatchObject({ requestTimeout: 10_000, headersTimeout: 5000, keepAliveTimeout: 30_000 });
    expect(CONNECTIONS_MAX).toBe(256);
  });

  async function withRoomFor(connections: number) {
    let closes = 0;
    const open = createServer((request, response) => {
      if (request.url !== '/slow') response.end('hello');
    });
    servers.push(open);
    makeRoom(open, connections);
    open.on('connection', (socket) => socket.on('close', () => (closes += 1)));
    const { port } = await listen(open, { host: '127.0.0.1', port: 0 });
    const client = async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      return socket;
    };
    return { open, client, closes: () => closes };
  }

  async function answers(client: Socket) {
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    expect(String((await once(client, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
  }

  test('counts no connection that has ended among those that need room', async () => {
    const { client, closes } = await withRoomFor(2);
    const first = await client();
    await answers(first);
    (await client()).destroy();
    await expect.poll(closes).toBe(1);
    const third = await client();
    await answers(third);
    await answers(first);
    for (const socket of [first, third]) socket.destroy();
  });

  test('takes a connection that has just asked for one in use, before it is answered', async () => {
    const { open, client, closes } = await withRoomFor(2);
    const asking = await client();
    const idle = await client();
    const closed: string[] = [];
    asking.on('close', () => closed.push('asking'));
    idle.on('close', () => closed.push('idle'));
    await answers(idle);
    const asked = once(open, 'request');
    asking.write('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
    await asked;
    await answers(await client());
    await expect.poll(closes).toBe(1);
    await expect.poll(() => closed).toEqual(['idle']);
  });

  test('makes room again and again, also by ending one that waits for its answer', async () => {
    const { open, client, closes } = await withRoomFor(1);
    const asked = once(open, 'request');
    const slow = await client();
    slow.write('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
    await asked;
    for (let number = 1; number <= 4; number += 1) {
      await answers(await client());
      await expect.poll(closes).toBe(number);
    }
  });

  test('drops a connection that was closed before it was looked at', () => {
    const closed = new Socket();
    expect(connectionKey(closed)).toBeUndefined();
    server().emit('connection', closed);
    expect(closed.destroyed).toBe(true);
  });

  test('that is not open is closed', async () => {
    await closeServer(createServer(), 0);
  });
});
