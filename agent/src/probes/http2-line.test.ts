import { renameSync } from 'node:fs';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { openLineFor } from './testing/ask-once.ts';
import { startChildService } from './testing/child-service.ts';
import { createGrpcServer } from './testing/grpc-server.ts';
import { eventually, within } from './testing/limits.ts';
import { listenAt, temporaryDirectory } from './testing/local-files.ts';
import { createService } from './testing/servers.ts';

function watched() {
  const directory = temporaryDirectory();
  const socket = path.join(directory, 'socket');
  let lost = 0;
  const line = openLineFor(
    { kind: 'grpc', socket },
    { paths: new ProbePaths([directory]) },
  )(() => {
    lost += 1;
  });
  onTestFinished(() => line.release());
  const ask = async (fresh = false, limitMs = 5000) => {
    const { verdict, evidence } = await line.ask({ path: socket }, within(limitMs), fresh);
    return `${verdict}: ${evidence.replace(socket, 'SOCKET')}`;
  };
  return { socket, line, ask, hold: () => line.hold({ path: socket }), lost: () => lost };
}

const serving = () => createService('grpc');

const SERVING = 'healthy: grpc SOCKET says SERVING of the server as a whole';

describe('the connection that is held to a gRPC server', () => {
  it('is asked over again, until another one has to be made', async () => {
    const { socket, ask, hold, line } = watched();
    const server = await listenAt(socket, serving());
    expect(await ask(true)).toBe(SERVING);
    hold();
    expect(await ask()).toBe(SERVING);
    expect(await ask()).toBe(SERVING);
    expect(server.accepted()).toBe(1);
    expect(await ask(true)).toBe(SERVING);
    expect(server.accepted()).toBe(2);
    await eventually(() => expect(server.connections.size).toBe(1));
    line.release();
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('tells at once when the process dies, and has proof then', async () => {
    const { socket, ask, hold, lost } = watched();
    const service = await startChildService('grpc', 511, socket);
    onTestFinished(service.end);
    expect(await ask(true)).toBe(SERVING);
    hold();
    service.signal('SIGKILL');
    await eventually(() => expect(lost()).toBe(1));
    // The kernel closes what a process had open one after the other: the listener may be there a moment longer.
    await eventually(async () => expect(await ask(true)).toBe('hard: grpc SOCKET has no listener (ECONNREFUSED)'));
  });

  it('does not hide a process that hangs', async () => {
    const { socket, ask } = watched();
    const service = await startChildService('grpc', 511, socket);
    onTestFinished(service.end);
    expect(await ask(true)).toBe(SERVING);
    service.signal('SIGSTOP');
    expect(await ask(false, 100)).toBe('soft: grpc SOCKET did not answer within 100 ms');
    service.signal('SIGCONT');
    expect(await ask()).toBe(SERVING);
  });

  it('is made anew without a word when the server has ended it, and while it asks', async () => {
    const { socket, ask, hold, lost } = watched();
    const server = serving();
    await listenAt(socket, server);
    const sessions: ServerHttp2Session[] = [];
    server.on('session', (session: ServerHttp2Session) => sessions.push(session));
    expect(await ask(true)).toBe(SERVING);
    hold();
    sessions.at(-1)?.close();
    await eventually(() => expect(lost()).toBe(1));
    expect(await ask()).toBe(SERVING);
    sessions.at(-1)?.goaway();
    expect(await ask()).toBe(SERVING);
  });

  it('does not count as one of the two attempts when it is cut', async () => {
    const { socket, ask } = watched();
    let calls = 0;
    const cutSecondAndThird = () => {
      calls += 1;
      if (calls === 1 || calls === 4) return Uint8Array.of(8, 1);
      return (stream: ServerHttp2Stream) => stream.session?.destroy();
    };
    await listenAt(socket, createGrpcServer({ '/grpc.health.v1.Health/Check': cutSecondAndThird }));
    expect(await ask(true)).toBe(SERVING);
    expect(await ask()).toBe(SERVING);
    expect(calls).toBe(4);
  });

  it('is held to nothing before a socket was found, and after it was let go', async () => {
    const { socket, line, ask, hold, lost } = watched();
    hold();
    expect(await ask(true)).toBe('hard: grpc SOCKET is not there (ENOENT)');
    hold();
    const server = await listenAt(socket, serving());
    expect(await ask(true)).toBe(SERVING);
    line.release();
    hold();
    expect(await ask()).toBe(SERVING);
    expect([server.accepted(), lost()]).toEqual([2, 0]);
  });

  it('is not kept to a server that answers with something else than gRPC', async () => {
    const { socket, ask } = watched();
    const notFound = () => (stream: ServerHttp2Stream) => stream.respond({ ':status': 404 }, { endStream: true });
    const server = await listenAt(socket, createGrpcServer({ '/grpc.health.v1.Health/Check': notFound }));
    expect(await ask(true)).toBe('soft: grpc SOCKET answered HTTP status 404, and not in gRPC');
    await eventually(() => expect(server.connections.size).toBe(0));
    expect(await ask()).toMatch(/^soft/);
    expect(server.accepted()).toBe(2);
  });

  it('is not followed by another one once the time is over', async () => {
    const { socket, ask } = watched();
    let calls = 0;
    const hangOnce = () => {
      calls += 1;
      return calls === 2 ? () => {} : Uint8Array.of(8, 1);
    };
    const server = await listenAt(socket, createGrpcServer({ '/grpc.health.v1.Health/Check': hangOnce }));
    expect(await ask(true)).toBe(SERVING);
    expect(await ask(false, 100)).toBe('soft: grpc SOCKET did not answer within 100 ms');
    expect(await ask()).toBe(SERVING);
    // Those who connect are taken in order.
    expect(server.accepted()).toBe(2);
  });

  it('is ended when the socket file was replaced', async () => {
    const { socket, ask, lost } = watched();
    const old = await listenAt(socket, serving());
    expect(await ask(true)).toBe(SERVING);
    const successor = await listenAt(`${socket}.new`, serving());
    renameSync(`${socket}.new`, socket);
    expect(await ask()).toBe(SERVING);
    expect(successor.accepted()).toBe(1);
    await eventually(() => expect(old.connections.size).toBe(0));
    expect(lost()).toBe(0);
  });

  it('is an idle one where the last was lost while it was asked over', async () => {
    const { socket, ask, hold, lost } = watched();
    const server = await listenAt(socket, createGrpcServer({ '/grpc.health.v1.Health/Check': () => () => {} }));
    expect(await ask(true, 100)).toMatch(/^soft/);
    hold();
    await eventually(() => expect([server.accepted(), server.connections.size]).toEqual([2, 1]));
    for (const connection of server.connections) connection.destroy();
    await eventually(() => expect(lost()).toBe(1));
  });
});
