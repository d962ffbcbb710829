import type { RequestListener, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { closeServer, nodeHttp } from '@rollcall/common/http-server.ts';
import type { CertificateHolder } from '../tls/certificate-holder.ts';
import { serveCurrentCertificate, TLS_VERSION_MIN } from '../tls/secure-context.ts';
import type { IngestMetrics } from './metrics.ts';
import type { ReportHandler } from './report-handler.ts';
import { type RefusalStatus, ReportRefusal } from './report-refusal.ts';

export type ReportsServerOptions = {
  handler: ReportHandler;
  /** Serves HTTPS with whatever certificate is current; plain HTTP without. */
  certificates?: CertificateHolder;
  metrics: IngestMetrics;
  /** Connections beyond this are closed as they come; 131,072 unless told. */
  connectionsMax?: number;
  /** For one whole request, and for a TLS handshake; 10 s unless told. */
  requestTimeoutMs?: number;
  /** For the head of a request, and for a new connection to send one; 5 s unless told. */
  headersTimeoutMs?: number;
};

export type ReportsServer = {
  /** To be opened with `listen` of the common http-server. */
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
  const listener: RequestListener = (request, response) => {
    if (draining) response.setHeader('connection', 'close');
    void handler.handle(request, response);
  };
  const server = createServer(options, listener);
  server.maxConnections = options.connectionsMax ?? 131_072;
  server.maxHeadersCount = 100;
  server.on('connection', (socket) => {
    metrics.connectionOpened();
    socket.once('close', () => metrics.connectionClosed());
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseUnreadable(error, socket, metrics));
  const drain = () => {
    draining = true;
  };
  const stop = (graceMs: number) => {
    drain();
    return closeServer(server, graceMs);
  };
  return { server, drain, stop };
}

function createServer(options: ReportsServerOptions, listener: RequestListener): Server {
  const headersTimeout = options.headersTimeoutMs ?? 5_000;
  const limits = {
    requestTimeout: options.requestTimeoutMs ?? 10_000,
    headersTimeout,
    keepAliveTimeout: 120_000,
    // How late a time-out is noticed; only connections with a request under way are looked at.
    connectionsCheckingInterval: Math.min(1000, headersTimeout / 2),
    maxHeaderSize: 16_384,
    noDelay: true,
  };
  if (!options.certificates) return nodeHttp().createServer(limits, listener);
  const https = process.getBuiltinModule('node:https');
  const server = https.createServer(
    { ...limits, handshakeTimeout: limits.requestTimeout, minVersion: TLS_VERSION_MIN },
    listener,
  );
  serveCurrentCertificate(server, options.certificates);
  return server;
}

const UNREADABLE: Readonly<Record<string, RefusalStatus>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

/** Answers what is not HTTP, or not in time, and ends the connection: nothing after it could be understood. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex, metrics: IngestMetrics): void {
  // Only the parser and the clock of HTTP leave somebody to answer: a reset is the client's own end of the connection,
  // and what is written before a TLS handshake has succeeded waits for ever.
  const isHttp = error.code?.startsWith('HPE_') || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!isHttp || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = new ReportRefusal(
    UNREADABLE[error.code ?? ''] ?? 400,
    'The request is not readable HTTP, or was too slow',
  );
  metrics.unreadable(refusal.status);
  const body = refusal.toProblemJson();
  const head = [
    `HTTP/1.1 ${refusal.status} ${refusal.title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
