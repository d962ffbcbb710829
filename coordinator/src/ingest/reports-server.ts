import type { Server } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { closeServer } from '@rollcall/common/http-server.ts';
import { PROBLEM_TYPE } from '@rollcall/common/problem.ts';
import { refuseUnreadable } from '@rollcall/common/unreadable-request.ts';
import type { CertificateHolder } from '../tls/certificate-holder.ts';
import type { ConnectionLimits, Outcome } from '../tls/connection-limiter.ts';
import { createLimitedServer } from '../tls/limited-server.ts';
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
  const { handler, metrics, certificates, clock, connectionLimits: limits = {} } = options;
  const requestTimeout = options.requestTimeoutMs ?? 10_000;
  let draining = false;
  const { server, stopLimiter } = createLimitedServer({
    certificates,
    clock,
    limits,
    http: {
      requestTimeout,
      // This also limits the silence on a new connection, so it must not be shorter.
      headersTimeout: requestTimeout,
      keepAliveTimeout: 120_000,
      // How late a time-out is noticed; only connections with a request under way are looked at.
      connectionsCheckingInterval: Math.min(1000, requestTimeout / 2),
      maxHeaderSize: 16_384,
      noDelay: true,
    },
    onOpened: () => metrics.connectionOpened(),
    onShut: (reason) => metrics.connectionShut(reason),
    onClosed: () => metrics.connectionClosed(),
    async handle(request, response, { isLast, accept, answered }) {
      if (draining || isLast) response.setHeader('connection', 'close');
      answered(outcomeOf(await handler.handle(request, response, ({ pod }) => accept(pod.uid))));
    },
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuseUnreadable(error, socket, (status, message) => {
      const refusal = new ReportRefusal(status, message);
      metrics.unreadable(status);
      return { title: refusal.title, type: PROBLEM_TYPE, body: refusal.toProblemJson() };
    }),
  );
  const drain = () => {
    draining = true;
  };
  const stop = (graceMs: number) => {
    drain();
    stopLimiter();
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
