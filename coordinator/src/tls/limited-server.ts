import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { createHttpServer, createHttpsServer } from '@rollcall/common/http-connection.ts';
import { connectionKey } from '@rollcall/common/http-server.ts';
import { type CertificateHolder, serveCurrentCertificate, TLS_VERSION } from './certificate-holder.ts';
import { type ClosedReason, ConnectionLimiter, type ConnectionLimits, type Outcome } from './connection-limiter.ts';
import { peekHello } from './peek-hello.ts';

/** The connection of a request, for the limiter. */
export type LimitedConnection = {
  /** Whether the answer to this request is to be the last on its connection. */
  isLast: boolean;
  /** The client is one of those that are let in; its connections count together. */
  accept: (client: string) => void;
  answered: (outcome: Outcome) => void;
};

export type LimitedServerOptions = {
  /** Serves HTTPS with whatever certificate is current; plain HTTP without. */
  certificates?: CertificateHolder | undefined;
  /** PEM: asks clients for a certificate of one of these. */
  clientCas?: readonly string[] | undefined;
  /** Whether a client is let in once its handshake is done, and by which name; defaults to one that is a stranger still. */
  admit?: (socket: TLSSocket) => 'stranger' | 'refused' | { client: string };
  http: ServerOptions;
  limits?: Partial<ConnectionLimits>;
  clock?: Clock | undefined;
  onOpened?: () => void;
  /** The limiter closed a connection. */
  onShut?: (reason: ClosedReason) => void;
  onClosed?: () => void;
  handle: (request: IncomingMessage, response: ServerResponse, connection: LimitedConnection) => void;
};

/** OpenSSL neither limits nor reports KeyUpdates, but it logs each new secret. */
const UPDATED = Buffer.from('CLIENT_TRAFFIC_SECRET_N ');

export type LimitedServer = {
  /** Open it with `listen` of the common http-server. */
  server: Server;
  /** Closes whatever nothing was asked on. */
  stopLimiter: () => void;
};

/**
 * Creates an HTTP/1.1 server, with TLS or without, that limits whatever a client without access could use up: connections,
 * handshakes, bytes before a handshake is done, and TLS records without content. Each listener with TLS is one.
 */
export function createLimitedServer(options: LimitedServerOptions): LimitedServer {
  const { certificates, handle } = options;
  /** TCP sockets by a name that they share with the TLS sockets upon them. */
  const sockets = new Map<string, Socket>();
  /** The same by the sockets upon them: to make a name for each request takes a fiftieth of its CPU. */
  const raws = new WeakMap<Socket, Socket>();
  const below = (socket: Socket) => raws.get(socket) ?? sockets.get(connectionKey(socket) ?? '') ?? socket;
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const socket = below(request.socket);
    const { isLast } = limiter.asked(socket);
    handle(request, response, {
      isLast,
      accept: (client) => limiter.accepted(socket, client),
      answered: (outcome) => limiter.answered(socket, outcome),
    });
  };
  const server = createServer(options, listener);
  // The connection handlers of Node.js run only once there is a slot for the connection.
  const beginnings = server.listeners('connection');
  server.removeAllListeners('connection');
  const limiter = new ConnectionLimiter<Socket>({
    begin: (raw) => {
      const begin = () => {
        for (const each of beginnings) Reflect.apply(each, server, [raw]);
      };
      if (certificates) return peekHello(raw, begin);
      limiter.secured(raw, raw);
      begin();
    },
    clock: options.clock ?? systemClock,
    ...(options.limits ? { limits: options.limits } : {}),
    onClosed: (reason) => options.onShut?.(reason),
  });
  server.on('connection', (raw: Socket) => {
    const key = connectionKey(raw);
    if (key === undefined) return void raw.destroy();
    sockets.set(key, raw);
    raws.set(raw, raw);
    options.onOpened?.();
    raw.once('close', () => {
      options.onClosed?.();
      if (sockets.get(key) === raw) sockets.delete(key);
      limiter.gone(raw);
    });
    // One that waits may be reset.
    raw.on('error', () => raw.destroy());
    limiter.arrived(raw);
  });
  server.on('keylog', (line: Buffer, secure: TLSSocket) => {
    if (line.compare(UPDATED, 0, UPDATED.length, 0, UPDATED.length) === 0) limiter.keyUpdated(below(secure));
  });
  server.on('secureConnection', (secure: TLSSocket) => {
    const raw = below(secure);
    raws.set(secure, raw);
    limiter.secured(raw, secure);
    const admitted = options.admit?.(secure) ?? 'stranger';
    if (admitted === 'refused') return void secure.destroy();
    if (admitted !== 'stranger') limiter.accepted(raw, admitted.client);
    // It was held back while it waited, and so is what comes upon it.
    secure.resume();
  });
  server.maxHeadersCount = 100;
  return { server, stopLimiter: () => limiter.stop() };
}

function createServer({ http, certificates, clientCas }: LimitedServerOptions, listener: RequestListener): Server {
  if (!certificates) return createHttpServer(http, listener);
  const clients = clientCas ? { requestCert: true, rejectUnauthorized: false } : {};
  const server = createHttpsServer(
    { ...http, ...clients, pauseOnConnect: true, handshakeTimeout: http.headersTimeout, minVersion: TLS_VERSION },
    listener,
  );
  serveCurrentCertificate(server, certificates, clientCas);
  return server;
}
