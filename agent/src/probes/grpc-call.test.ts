import { getEventListeners } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { callGrpc } from './grpc-call.ts';
import { Http2Connection } from './http2-connection.ts';
import { createGrpcServer, type GrpcAnswer } from './testing/grpc-server.ts';
import { eventually, within } from './testing/limits.ts';
import { closedTarget, listenOnLoopback } from './testing/servers.ts';

const METHOD = '/a.B/C';

/** A connection to a server that answers so. */
async function connected(answer: (request: Uint8Array) => GrpcAnswer) {
  const server = await listenOnLoopback(createGrpcServer({ [METHOD]: answer }));
  onTestFinished(server.close);
  let closes = 0;
  const connection = new Http2Connection(server, () => {
    closes += 1;
  });
  onTestFinished(() => {
    connection.socket.destroy();
  });
  return { server, connection, closes: () => closes };
}

function listeners({ socket }: Http2Connection, signal: AbortSignal): number[] {
  return [socket.listenerCount('error'), getEventListeners(signal, 'abort').length];
}

describe('a call of gRPC', () => {
  it('sends a message and gets one, over one connection', async () => {
    const { server, connection } = await connected((request) => Uint8Array.of(...request, 7));
    const { signal } = new AbortController();
    for (const message of [Uint8Array.of(1, 2), new Uint8Array(0)]) {
      const reply = await callGrpc(connection, METHOD, message, signal);
      expect(reply).toMatchObject({ status: 0 });
      expect('message' in reply && [...reply.message]).toEqual([...message, 7]);
    }
    expect(server.accepted()).toBe(1);
  });

  it('goes over the wire as gRPC has it: not compressed, with its length, and asking for trailers', async () => {
    const heard: { headers: IncomingHttpHeaders; body: number[] }[] = [];
    const server = createServer().on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        heard.push({ headers, body: [...Buffer.concat(chunks)] });
        stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': 0 }, { endStream: true });
      });
    });
    const running = await listenOnLoopback(server);
    onTestFinished(running.close);
    const connection = new Http2Connection(running, () => {});
    onTestFinished(() => void connection.socket.destroy());
    const call = callGrpc(connection, METHOD, new Uint8Array(300).fill(9), within(5000));
    await expect(call).rejects.toThrow('answered with no message of gRPC');
    expect(heard).toMatchObject([
      { headers: { ':method': 'POST', ':path': METHOD, 'content-type': 'application/grpc', te: 'trailers' } },
    ]);
    expect(heard[0]?.body).toEqual([0, 0, 0, 1, 44, ...Array<number>(300).fill(9)]);
  });

  it('gives a status without a message', async () => {
    const { connection } = await connected(() => ({ status: 12 }));
    const reply = await callGrpc(connection, METHOD, new Uint8Array(0), within(5000));
    expect(reply).toMatchObject({ status: 12 });
    expect('message' in reply && reply.message).toHaveLength(0);
  });

  it('leaves nothing that listens', async () => {
    const { connection } = await connected(() => Uint8Array.of(1));
    const { signal } = new AbortController();
    await callGrpc(connection, METHOD, new Uint8Array(0), signal);
    const before = listeners(connection, signal);
    expect(before[1]).toBe(0);
    await callGrpc(connection, METHOD, new Uint8Array(0), signal);
    expect(listeners(connection, signal)).toEqual(before);
  });

  it('is given up with the reason of the signal, and leaves nothing that listens', async () => {
    const { connection } = await connected(() => () => {});
    const controller = new AbortController();
    const reason = new Error('enough');
    const call = callGrpc(connection, METHOD, new Uint8Array(0), controller.signal);
    const [errors = 0] = listeners(connection, controller.signal);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(listeners(connection, controller.signal)).toEqual([errors, 0]);
    await expect(callGrpc(connection, METHOD, new Uint8Array(0), controller.signal)).rejects.toBe(reason);
  });

  it('tells once that the connection has ended', async () => {
    const { server, connection, closes } = await connected(() => Uint8Array.of(1));
    await callGrpc(connection, METHOD, new Uint8Array(0), within(5000));
    expect(closes()).toBe(0);
    for (const socket of server.connections) socket.destroy();
    await eventually(() => expect(closes()).toBe(1));
  });

  it('over a connection that reached only itself counts as refused', async () => {
    const { host, port } = await closedTarget();
    let closes = 0;
    const connection = new Http2Connection(
      { host, port },
      () => {
        closes += 1;
      },
      { connect: () => connect({ host, port, localPort: port, localAddress: host }) },
    );
    const call = callGrpc(connection, METHOD, new Uint8Array(0), within(5000));
    await expect(call).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await eventually(() => expect(closes).toBe(1));
  });
});
