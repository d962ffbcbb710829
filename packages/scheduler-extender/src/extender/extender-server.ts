import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { problemTitle } from '@rollcall/common/problem.ts';
import { readTarget } from '@rollcall/common/request-target.ts';
import { refuseUnreadable } from '@rollcall/common/unreadable-request.ts';
import type { CertificateHolder, KeyPair } from '@rollcall/coordinator/tls/certificate-holder.ts';
import { parseCertificate } from '@rollcall/coordinator/tls/certificate-info.ts';
import { createLimitedServer, type LimitedConnection } from '@rollcall/coordinator/tls/limited-server.ts';
import type { ExtenderMetrics, RequestVerb } from './metrics.ts';
import { type ExtenderResponse, type Responder, refuse, type Verb } from './response.ts';

export type ExtenderServerOptions = {
  respond: Responder;
  /** Serves HTTPS with whatever certificate is current; plain HTTP without. */
  certificates?: CertificateHolder;
  /** PEM: only clients with a certificate of one of these are let in, and replicas, which have the served one. */
  clientCas?: readonly string[] | undefined;
  metrics: ExtenderMetrics;
  clock: Clock;
  logger: Logger;
  /** From the head of a request to the last of its answer; defaults to 0.9 s, since kube-scheduler waits for 1 s. */
  totalMs?: number;
};

const TOTAL_MS = 900;
const STATUS_PATH = '/status';
/** Whoever is let in, or got an answer where all are: one client for the limiter of connections. */
const SCHEDULER = 'scheduler';
const VERBS: ReadonlyMap<string, Verb> = new Map([
  ['/scheduler/filter', 'filter'],
  ['/scheduler/prioritize', 'prioritize'],
  ['/scheduler/preempt', 'preempt'],
  ['/scheduler/predicates/gitpod', 'predicates'],
]);

/** kube-scheduler asks on a connection or two, and a standby on a new one for each question that it forwards. */
const CONNECTION_LIMITS = {
  unauthenticatedMax: 128,
  settledMs: 0,
  beginsPerSecond: 200,
  perClientMax: 256,
};

/** The HTTP/1.1 server that kube-scheduler asks, with a limit on everything that a client could draw out. */
export function createExtenderServer(options: ExtenderServerOptions): Server {
  const { certificates, clientCas, metrics, clock, totalMs = TOTAL_MS } = options;
  const own: string[] = [];
  const remember = ({ cert }: KeyPair) =>
    // A replica may learn of a new certificate a little later than the others.
    own.splice(0, own.length, ...own.slice(-1), parseCertificate(cert).fingerprint);
  if (certificates?.current) remember(certificates.current);
  const { server } = createLimitedServer({
    certificates,
    clientCas,
    clock,
    limits: CONNECTION_LIMITS,
    admit(socket) {
      if (!clientCas) return 'stranger';
      return isLetIn(socket, own) ? { client: SCHEDULER } : 'refused';
    },
    http: {
      requestTimeout: totalMs + 2_000,
      headersTimeout: 2_000,
      // Longer than Go's clients keep an idle connection, so that they never find it just closed.
      keepAliveTimeout: 120_000,
      connectionsCheckingInterval: 500,
      maxHeaderSize: 16_384,
      noDelay: true,
    },
    handle: (request, response, connection) => void serve(request, response, connection, options),
  });
  if (certificates) server.once('close', certificates.onChange(remember));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuseUnreadable(error, socket, (status, message) => {
      metrics.answered('other', status, 0);
      const { type, body } = refuse(status, message);
      return { title: problemTitle(status), type, body: String(body) };
    }),
  );
  return server;
}

/**
 * Replicas are recognized by their own certificate, not by its CA, which may have signed certificates of other clients.
 */
function isLetIn(socket: TLSSocket, ownFingerprints: readonly string[]): boolean {
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
  // Whatever is thought of a session that is resumed: a certificate has to have been shown.
  return fingerprint !== undefined && (socket.authorized || ownFingerprints.includes(fingerprint));
}

/** Answers one request, whatever it holds. Never rejects. */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { isLast, accept, answered }: LimitedConnection,
  options: ExtenderServerOptions,
): Promise<void> {
  const { clock, logger, metrics, totalMs } = options;
  const startMs = clock.monotonic();
  const path = readTarget(request.url)?.pathname ?? '';
  const overdue = new AbortController();
  const closers: (() => void)[] = [];
  const cancel = clock.after(totalMs ?? TOTAL_MS, () => overdue.abort());
  response.once('close', () => {
    cancel();
    overdue.abort();
    for (const close of closers) close();
    const code = response.writableFinished ? response.statusCode : 'aborted';
    metrics.answered(requestVerb(path), code, (clock.monotonic() - startMs) / 1000);
  });
  const late = whenAborted(overdue.signal).then(() => refuse(503, 'No answer was found in time'));
  const onClosed = (callback: () => void) => closers.push(callback);
  const answer = answerTo({ path, request, signal: overdue.signal, onClosed }, options).catch((err: unknown) => {
    if (!overdue.signal.aborted) logger.error({ err, path }, 'Failed to answer the scheduler');
    return refuse(500, 'The request could not be handled');
  });
  const given = await Promise.race([answer, late]);
  // Connections are few: only who asks questions keeps one for later.
  if (isLast || given.status !== 200 || path === STATUS_PATH) response.setHeader('connection', 'close');
  else accept(SCHEDULER);
  answered(given.status === 200 ? 'accepted' : 'refused');
  send(response, given, overdue.signal);
}

type Asked = Omit<Parameters<Responder>[0], 'verb'>;

async function answerTo(asked: Asked, { respond }: ExtenderServerOptions): Promise<ExtenderResponse> {
  const { path, request } = asked;
  if (path === STATUS_PATH) return { status: 200, type: 'text/plain; charset=utf-8', body: 'OK' };
  const verb = VERBS.get(path);
  if (!verb) return refuse(404, `Questions go to ${[...VERBS.keys()].join(', ')}`);
  if (request.method !== 'POST') return refuse(405, 'The method must be POST', { allow: 'POST' });
  return respond({ ...asked, verb });
}

function requestVerb(path: string): RequestVerb {
  return VERBS.get(path) ?? (path === STATUS_PATH ? 'status' : 'other');
}

function send(response: ServerResponse, { status, type, body, headers }: ExtenderResponse, signal: AbortSignal): void {
  if (response.destroyed) {
    if (typeof body !== 'string') body.destroy();
    return;
  }
  // A client that does not take its answer in time gets no more of it.
  signal.addEventListener('abort', () => !response.writableFinished && response.destroy(), { once: true });
  response.statusCode = status;
  response.setHeader('content-type', type);
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
  if (typeof body === 'string') response.end(body);
  else pipeline(body, response, () => {});
}

/** Resolves a moment after the abort, so that a better answer can win the race. */
function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => setImmediate(resolve), { once: true }));
}
