import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { nodeHttp } from '@rollcall/common/http-server.ts';
import { readTarget } from '@rollcall/common/request-target.ts';

/** The address of the leader, and the TLS settings for it. */
export type Leader = {
  /** Scheme, host and port. */
  url: string;
  /** PEM; for https. */
  ca?: string;
  serverName?: string;
  /** PEM; for a leader that requires a certificate. */
  cert?: string;
  key?: string;
};

export type ForwardedRequest = {
  /** The request of the client. Only its method, its path and query, and the listed headers are forwarded. */
  request: IncomingMessage;
  headers: readonly string[];
  /** The body, if it was read already; the body of a POST is otherwise forwarded while it arrives. */
  body?: Buffer;
  /** Aborts when the client is gone or no time is left. */
  signal: AbortSignal;
  /** From the request to the head of the response. */
  timeoutMs: number;
  clock: Clock;
};

/** Marks a forwarded request. The replica that receives it answers it, whether it leads or not, so that no loop arises. */
const FORWARDED_HEADER = 'x-rollcall-forwarded';

export function isForwarded({ headers }: IncomingMessage): boolean {
  return headers[FORWARDED_HEADER] !== undefined;
}

/**
 * Forwards a request to the leader and to no other address. Resolves to its response, whose body follows, or to
 * `undefined` if the leader does not answer in time. Redirects are not followed.
 */
export function askLeader(leader: Leader, forwarded: ForwardedRequest): Promise<IncomingMessage | undefined> {
  const { request, body, signal, timeoutMs, clock } = forwarded;
  const url = leaderTarget(leader.url, request.url);
  if (!url) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const outgoing = open(url, leader, forwarded);
    const abort = () => outgoing.destroy();
    const cancel = clock.after(timeoutMs, abort);
    signal.addEventListener('abort', abort, { once: true });
    outgoing.once('response', (response) => {
      cancel();
      resolve(response);
    });
    outgoing.on('error', () => {
      cancel();
      resolve(undefined);
    });
    if (signal.aborted) abort();
    // Node.js sends the body of a GET after its head without a length.
    if (body || request.method !== 'POST') outgoing.end(body);
    else request.pipe(outgoing);
  });
}

/** Opens a connection for one request: a body that was sent on a kept connection could not be sent again. */
function open(
  url: URL,
  { ca, serverName, cert, key }: Leader,
  { request, headers, body }: ForwardedRequest,
): ClientRequest {
  const options = {
    method: request.method ?? 'GET',
    agent: false as const,
    headers: {
      [FORWARDED_HEADER]: '1',
      ...(body ? { 'content-length': String(body.length) } : {}),
      ...Object.fromEntries(
        headers.flatMap((name) => (typeof request.headers[name] === 'string' ? [[name, request.headers[name]]] : [])),
      ),
    },
  };
  if (url.protocol === 'http:') return nodeHttp().request(url, options);
  // The given CA may be the leader's own certificate.
  const tls = { ca, cert, key, servername: serverName, allowPartialTrustChain: true };
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  return process.getBuiltinModule('node:https').request(url, { ...options, ...given });
}

/**
 * Builds the URL of the same path and query at the leader. Returns `undefined` if the leader's address or the target
 * cannot be used, so that no request reaches another origin.
 */
export function leaderTarget(leaderUrl: string, target: string | undefined): URL | undefined {
  const leader = URL.parse(leaderUrl);
  const asked = readTarget(target);
  if (!leader || !asked || (leader.protocol !== 'http:' && leader.protocol !== 'https:')) return undefined;
  const url = new URL(leader.origin);
  url.pathname = asked.pathname;
  url.search = asked.search;
  return url.origin === leader.origin ? url : undefined;
}
