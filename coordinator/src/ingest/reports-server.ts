import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { createHttpServer, createHttpsServer } from '@rollcall/common/http-connection.ts';
import { closeServer, connectionKey } from '@rollcall/common/http-server.ts';
import { refuseUnreadable } from '@rollcall/common/unreadable-request.ts';
import { type CertificateHolder, serveCurrentCertificate, TLS_VERSION_MIN } from '../tls/certificate-holder.ts';
import { ConnectionLimiter, type ConnectionLimits, type Outcome } from './connection-limiter.ts';
import type { IngestMetrics, ReportResult } from './metrics.ts';
import type { ReportHandler } from './report-handler.ts';
import { ReportRefusal } from './report-refusal.ts';

export type ReportsServerOptions = {
  handler: ReportHandler;
  /** Serves HTTPS with whatever certificate is current; plain HTTP without. */
  certificates?: CertificateHolder;
  metrics: IngestMetrics;
  /** Limits of connections, for tests. */
  connectionLimits?: Partial<ConnectionLimits>;
  clock?: Clock;
  /** Limit for one whole request, for the first request on a connection, and for a TLS handshake; defaults to 10 s. */
  requestTimeoutMs?: number;
};

export type ReportsServer = {
  /** The server; open it with `listen` of the common http-server. */
  server: Server;
  /** From now on every answer ends its connection, so that agents go elsewhere one by one before `stop`. */
  drain: () => void;
  /** No new connections; requests under way get `graceMs`. */
  stop: (graceMs: number) => Promise<void>;
};

/** The HTTP/1.1 server that takes reports, with a limit on everything that a client could draw out. */
export function createReportsServer(options: ReportsServerOptions): ReportsServer {
  const { handler, metrics } = options;
  let draining = false;
  const listener: RequestListener = async (request, response) => {
    const socket = sockets.get(connectionKey(request.socket) ?? '') ?? request.socket;
    const { isLast } = limiter.asked(socket);
    if (draining || isLast) response.setHeader('connection', 'close');
    const result = await handler.handle(request, response, ({ pod }) => limiter.accepted(socket, pod.uid));
    limiter.answered(socket, outcomeOf(result));
  };
  const server = createServer(options, listener);
  // The connection handlers of Node.js run only once there is a slot for the connection.
  const beginnings = server.listeners('connection');
  server.removeAllListeners('connection');
  const limiter = new ConnectionLimiter<Socket>({
    begin: (socket) => {
      for (const begin of beginnings) begin.call(server, socket);
    },
    clock: options.clock ?? systemClock,
    ...(options.connectionLimits ? { limits: options.connectionLimits } : {}),
    onClosed: (reason) => metrics.connectionShut(reason),
  });
  /** TCP sockets by a name that they share with the TLS sockets upon them. */
  const sockets = new Map<string, Socket>();
  server.on('connection', (socket) => {
    const key = connectionKey(socket);
    if (key === undefined) return void socket.destroy();
    sockets.set(key, socket);
    metrics.connectionOpened();
    socket.once('close', () => {
      metrics.connectionClosed();
      if (sockets.get(key) === socket) sockets.delete(key);
      limiter.gone(socket);
    });
    // One that waits may be reset.
    socket.on('error', () => socket.destroy());
    limiter.arrived(socket);
  });
  // It was held back while it waited, and so is what comes upon it.
  server.on('secureConnection', (socket: Socket) => socket.resume());
  server.maxHeadersCount = 100;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuseUnreadable(error, socket, (status, message) => {
      const refusal = new ReportRefusal(status, message);
      metrics.unreadable(status);
      return { title: refusal.title, type: 'application/problem+json', body: refusal.toProblemJson() };
    }),
  );
  const drain = () => {
    draining = true;
  };
  const stop = (graceMs: number) => {
    drain();
    limiter.stop();
    return closeServer(server, graceMs);
  };
  return { server, drain, stop };
}

/** The results that are answered with 200. */
const ACCEPTED: readonly ReportResult[] = ['full', 'heartbeat', 'leaving', 'ignored'];

function outcomeOf(result: ReportResult): Outcome {
  if (ACCEPTED.includes(result)) return 'accepted';
  return result === '401' || result === '403' ? 'unauthenticated' : 'refused';
}

function createServer(options: ReportsServerOptions, listener: RequestListener): Server {
  const requestTimeout = options.requestTimeoutMs ?? 10_000;
  const limits = {
    requestTimeout,
    // This also limits the silence on a new connection, so it must not be shorter.
    headersTimeout: requestTimeout,
    keepAliveTimeout: 120_000,
    // How late a time-out is noticed; only connections with a request under way are looked at.
    connectionsCheckingInterval: Math.min(1000, requestTimeout / 2),
    maxHeaderSize: 16_384,
    noDelay: true,
  };
  if (!options.certificates) return createHttpServer(limits, listener);
  const server = createHttpsServer(
    { ...limits, pauseOnConnect: true, handshakeTimeout: requestTimeout, minVersion: TLS_VERSION_MIN },
    listener,
  );
  serveCurrentCertificate(server, options.certificates);
  return server;
}
