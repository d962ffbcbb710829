import { getEventListeners } from 'node:events';
import { Agent, createServer, type RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requestStatus } from './request-status.ts';
import { eventually, within } from './testing/limits.ts';
import { closedTarget, createRawServer, listenOnLoopback } from './testing/servers.ts';

describe('a request for a status', () => {
  async function serve(listener: RequestListener) {
    const server = await listenOnLoopback(createServer(listener));
    onTestFinished(server.close);
    return server;
  }

  const asked = () => ({ protocol: 'http', agent: new Agent({ keepAlive: true }), path: '/' }) as const;

  it('gives the connection where the server keeps it, and says when the answer has ended', async () => {
    const server = await serve((_request, response) => void response.writeHead(204).end());
    const { status, socket, ended } = await requestStatus(server, within(5000), asked());
    expect([status, socket?.destroyed]).toEqual([204, false]);
    await ended;
    expect(server.connections.size).toBe(1);
    socket?.destroy();
  });

  it.each(['HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n', 'HTTP/1.0 200 OK\r\n\r\n'])(
    'closes the connection where the server does not keep it: %j',
    async (head) => {
      const server = await listenOnLoopback(createRawServer((socket) => socket.once('data', () => socket.write(head))));
      onTestFinished(server.close);
      const { status, socket } = await requestStatus(server, within(5000), asked());
      expect([status, socket]).toEqual([200, undefined]);
      await eventually(() => expect(server.connections.size).toBe(0));
    },
  );

  it('fails where interim answers come without end', async () => {
    const server = await listenOnLoopback(
      createRawServer((socket) =>
        socket.once('data', () => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(500))),
      ),
    );
    onTestFinished(server.close);
    const answer = requestStatus(server, within(5000), asked());
    await expect(answer).rejects.toThrow('sent more than 8 interim answers');
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('closes the connection of an answer that does not end', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200);
      const more = () => {
        while (response.write(Buffer.alloc(16_384)));
        response.once('drain', more);
      };
      more();
    });
    expect(await requestStatus(server, within(5000), asked())).toMatchObject({ status: 200 });
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('reads an answer of 64 KiB to its end', async () => {
    const server = await serve((_request, response) => void response.writeHead(200).end(Buffer.alloc(64 * 1024)));
    const { socket, ended } = await requestStatus(server, within(5000), asked());
    await ended;
    expect(socket?.destroyed).toBe(false);
    socket?.destroy();
  });

  it('leaves nothing that listens to the signal', async () => {
    const server = await serve((_request, response) => void response.writeHead(200).end());
    const { signal } = new AbortController();
    const { socket } = await requestStatus(server, signal, asked());
    await expect(requestStatus(await closedTarget(), signal, asked())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    socket?.destroy();
  });

  it('is given up with the reason of the signal, before it began and while it lasts', async () => {
    const server = await serve(() => {});
    const reason = new Error('enough');
    await expect(requestStatus(server, AbortSignal.abort(reason), asked())).rejects.toBe(reason);
    expect(server.accepted()).toBe(0);
    const controller = new AbortController();
    const answer = requestStatus(server, controller.signal, asked());
    await eventually(() => expect(server.connections.size).toBe(1));
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
    await eventually(() => expect(server.connections.size).toBe(0));
  });
});
