import { getEventListeners } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exchange, isConnectedToItself } from './exchange.ts';
import { eventually, within } from './testing/limits.ts';
import { closedTarget, createRawServer, listenOnLoopback } from './testing/servers.ts';

describe('exchange', () => {
  it('collects the reply however it is cut up, and no more than asked for', async () => {
    const server = await listenOnLoopback(
      createRawServer((socket) => {
        socket.once('data', (hello: Buffer) => {
          socket.write(hello.subarray(0, 1));
          setTimeout(() => socket.write(Buffer.concat([hello.subarray(1), Buffer.from('more')])), 20);
        });
      }),
    );
    onTestFinished(server.close);
    const reply = await exchange(server, within(5000), Buffer.from('hello'), 5);
    expect(reply.toString()).toBe('hello');
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('rejects when the peer hangs up in the middle of the reply', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.end('hel')));
    onTestFinished(server.close);
    await expect(exchange(server, within(5000), Buffer.from('hello'), 5)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('listens to the signal for no longer than it lasts', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.pipe(socket)));
    onTestFinished(server.close);
    const { signal } = new AbortController();
    await exchange(server, signal, Buffer.from('hello'), 5);
    await expect(exchange(await closedTarget(), signal)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does not connect when the signal has aborted already', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.resume()));
    onTestFinished(server.close);
    const reason = new Error('enough');
    await expect(exchange(server, AbortSignal.abort(reason))).rejects.toBe(reason);
    await exchange(server, within(5000));
    await eventually(() => expect(server.accepted()).toBe(1));
  });

  it('takes a connection to itself for one that was refused', async () => {
    const { host, port } = await closedTarget();
    const toItself = exchange({ host, port }, within(5000), Buffer.from('hello'), 5, () =>
      connect({ host, port, localPort: port, localAddress: host }),
    );
    await expect(toItself).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('rejects with the reason of the signal and closes the connection', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.resume()));
    onTestFinished(server.close);
    const controller = new AbortController();
    const reply = exchange(server, controller.signal, Buffer.from('hello'), 5);
    await eventually(() => expect(server.connections.size).toBe(1));
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(reply).rejects.toBe(reason);
    await eventually(() => expect(server.connections.size).toBe(0));
  });
});

describe('isConnectedToItself', () => {
  it('recognizes a connection whose two ends are the same', async () => {
    const { host, port } = await closedTarget();
    const socket = connect({ host, port, localPort: port, localAddress: host });
    onTestFinished(() => void socket.destroy());
    await eventually(() => expect(socket.readyState).toBe('open'));
    expect(isConnectedToItself(socket)).toBe(true);
  });

  it('does not take a server on the same host for oneself', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.resume()));
    onTestFinished(server.close);
    const socket = connect({ host: server.host, port: server.port });
    onTestFinished(() => void socket.destroy());
    await eventually(() => expect(socket.readyState).toBe('open'));
    expect(isConnectedToItself(socket)).toBe(false);
  });
});
