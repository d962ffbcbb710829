import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { SERVER_CHAIN, SERVER_KEY } from './certificates.ts';
import { createGrpcServer } from './grpc-server.ts';

/** What a healthy service speaks. */
export type ServiceKind = 'tcp' | 'tls' | 'http2' | 'http' | 'https' | 'grpc';

/** A service that is healthy to the probe of its kind, where 404 is expected. */
export function createService(kind: ServiceKind): Server {
  if (kind === 'tls') return createTlsServer({ key: SERVER_KEY, cert: SERVER_CHAIN });
  if (kind === 'http2') return createHttp2Server();
  if (kind === 'grpc') return createGrpcServer({ '/grpc.health.v1.Health/Check': () => Uint8Array.of(8, 1) });
  if (kind === 'tcp') return createTcpServer((socket) => socket.resume().on('error', () => {}));
  if (kind === 'http') return createHttpServer(answer404);
  return createHttpsServer({ key: SERVER_KEY, cert: SERVER_CHAIN }, answer404);
}

function answer404(_request: unknown, response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
}

export type RunningServer = ProbeTarget & {
  /** Connections that are open now. */
  connections: ReadonlySet<Socket>;
  /** Connections so far. */
  accepted(): number;
  /** Takes no more connections; those that are open go on. */
  closePort(): void;
  close(): Promise<void>;
};

export type ListenOptions = {
  host?: '127.0.0.1' | '127.0.0.2' | '::1';
  /** How many connections the kernel keeps for a process that does not take them. */
  backlog?: number;
  /** At a socket file instead, and no port. */
  file?: string | undefined;
};

/** Listens on a free port of the loopback address. `close` cuts what is connected. */
export function listenOnLoopback(server: Server, options: ListenOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', backlog = 511, file } = options;
  const connections = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket) => {
    accepted += 1;
    connections.add(socket);
    socket.on('error', () => {}).on('close', () => connections.delete(socket));
  });
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of connections) socket.destroy();
    });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(file === undefined ? { port: 0, host, backlog } : { path: file, backlog }, () => {
      const bound = server.address();
      const port = typeof bound === 'object' && bound ? bound.port : 0;
      resolve({ host, port, connections, accepted: () => accepted, closePort: () => void server.close(), close });
    });
  });
}

/** A server that does `handle` with every TCP connection. */
export function createRawServer(handle: (socket: Socket) => void): Server {
  return createTcpServer((socket) => {
    socket.on('error', () => {});
    handle(socket);
  });
}

/** Returns an address on which no process listens. */
export async function closedTarget(): Promise<ProbeTarget> {
  const { host, port, close } = await listenOnLoopback(createTcpServer());
  await close();
  return { host, port };
}
