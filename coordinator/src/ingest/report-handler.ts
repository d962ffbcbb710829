import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { BodyReader, BodyRefusal, ClientGoneError } from '@rollcall/common/http-body.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { parseJson } from '@rollcall/common/parse-json.ts';
import { PROBLEM_TYPE } from '@rollcall/common/problem.ts';
import type { FullReport, Heartbeat, ReportReply } from '@rollcall/common/report.ts';
import { readTarget } from '@rollcall/common/request-target.ts';
import { type Rate, TokenBuckets } from '@rollcall/common/token-bucket.ts';
import { REPORT_BODY_BYTES_MAX, REPORTS_PATH } from '@rollcall/common/well-known.ts';
import type { SessionResult } from '../state/agent-sessions.ts';
import type { Role } from '../term/leadership-state.ts';
import type { AgentIdentity } from './agent-identity.ts';
import type { IngestMetrics, ReportResult } from './metrics.ts';
import { ReportRefusal, unauthenticated, unavailable } from './report-refusal.ts';
import { parseReport } from './report-schema.ts';

/** Throws ReportRefusal (400) for what is not a JSON object in UTF-8. */
export function parseJsonObject(body: Buffer): object {
  if (!isUtf8(body)) throw new ReportRefusal(400, 'The body is not UTF-8');
  let value: unknown;
  try {
    value = parseJson(body.toString('utf8'));
  } catch (cause) {
    const problem = cause instanceof RangeError ? 'is nested too deeply' : 'is not JSON';
    throw new ReportRefusal(400, `The body ${problem}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new ReportRefusal(400, 'The body is not a JSON object');
}

function sendJson(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** 307: the same request, to another place. */
function sendRedirect(response: ServerResponse, location: string): void {
  response.writeHead(307, { location, 'content-length': 0 });
  response.end();
}

function sendRefusal(response: ServerResponse, refusal: ReportRefusal): void {
  const body = refusal.toProblemJson();
  response.writeHead(refusal.status, {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...refusal.headers,
  });
  response.end(body);
}

/** Longest token that is looked at. A projected token has about 1,100 characters. */
const TOKEN_LENGTH_MAX = 8192;

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The token of an Authorization header as RFC 6750 writes it, or `undefined` when it is not one. */
export function readBearerToken(authorization: string): string | undefined {
  // Cheaper than the expression, which would otherwise walk through whatever a client sends.
  if (authorization.length > TOKEN_LENGTH_MAX + 8) return undefined;
  return BEARER.exec(authorization)?.[1];
}

export type Leadership = {
  role: () => Role;
  /** Whether what a report is evaluated by is there: Nodes and pods as watched. */
  synced: () => boolean;
};

/** The sender of a report; the uid is the uid of the watched Node. */
export type ReportSender = AgentIdentity & { nodeUid: string };

export type Acceptance = { result: SessionResult; reply: ReportReply };

export type ReportHandlerOptions = {
  leadership: Leadership;
  /** Rejects with ReportRefusal. */
  authenticate: (token: string) => Promise<AgentIdentity>;
  /** The uid of a Node as watched. */
  nodeUid: (name: string) => string | undefined;
  accept: (report: FullReport | Heartbeat, sender: ReportSender) => Acceptance;
  clock: Clock;
  logger: Logger;
  metrics: IngestMetrics;
  /** Limit for each node; defaults to 20 at once and 10 a second. */
  rateLimit?: Rate;
};

/**
 * Bytes of reports that a node may send: the cost of a report grows with its length, up to 40 ns a byte. So a client
 * with a node's token takes at most 3 ms of a second; an agent sends a few kilobytes when something changes.
 */
const BYTES: Rate = { burst: 512 * 1024, intervalMs: 1000 / (64 * 1024) };
const REPORTS: Rate = { burst: 20, intervalMs: 100 };
/** More than there are in the largest fleet. */
const NODES_MAX = 131_072;

const RESULTS: Readonly<Record<Acceptance['result'], ReportResult>> = {
  content: 'full',
  heartbeat: 'heartbeat',
  'unknown-digest': 'heartbeat',
  leaving: 'leaving',
  beside: 'ignored',
  superseded: 'ignored',
  ignored: 'ignored',
};

/** Answers requests to the listener that takes reports. */
export class ReportHandler {
  readonly #options: ReportHandlerOptions;
  readonly #rateLimit: TokenBuckets;
  readonly #bodies = new BodyReader({ what: 'A report', bytesMax: () => REPORT_BODY_BYTES_MAX });
  readonly #byteLimit = new TokenBuckets({ ...BYTES, keysMax: NODES_MAX });

  constructor(options: ReportHandlerOptions) {
    this.#options = options;
    this.#rateLimit = new TokenBuckets({ ...(options.rateLimit ?? REPORTS), keysMax: NODES_MAX });
  }

  /** Answers one request, whatever it holds. `onAccepted`: its token was. Never rejects. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    onAccepted: (identity: AgentIdentity) => void = () => {},
  ): Promise<ReportResult> {
    const { clock, metrics } = this.#options;
    const startMs = clock.monotonic();
    let result: ReportResult;
    try {
      result = await this.#answer(request, response, onAccepted);
    } catch (error) {
      result = this.#refuse(response, error);
    }
    metrics.answered(result, (clock.monotonic() - startMs) / 1000);
    return result;
  }

  /** The checks in their order: the cheap ones first, and nothing of the body before it is known who sends it. */
  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    onAccepted: (identity: AgentIdentity) => void,
  ): Promise<ReportResult> {
    checkTarget(request);
    const elsewhere = this.#leaderElsewhere();
    if (elsewhere !== undefined) return redirect(response, elsewhere);
    const token = requireToken(request);
    this.#bodies.check(request);
    const identity = await this.#options.authenticate(token);
    onAccepted(identity);
    this.#checkRate(identity.node, Number(request.headers['content-length']));
    const { body: bytes, closed } = await this.#bodies.read(request);
    closed();
    const body = parseJsonObject(bytes);
    const sender = this.#checkNode(body, identity);
    const parsed = parseReport(body);
    if ('problem' in parsed) {
      const { field, detail } = parsed.problem;
      throw new ReportRefusal(422, field === '' ? `The report ${detail}` : `${field} ${detail}`, { field });
    }
    // Leadership may have gone while the API server or the client was slow.
    const movedTo = this.#leaderElsewhere();
    if (movedTo !== undefined) return redirect(response, movedTo);
    const { result, reply } = this.#options.accept(parsed.report, sender);
    sendJson(response, JSON.stringify(reply));
    return RESULTS[result];
  }

  /** Returns the URL at which the leader takes reports; `undefined` if this replica leads. Throws ReportRefusal (503). */
  #leaderElsewhere(): string | undefined {
    const { leadership } = this.#options;
    const role = leadership.role();
    if (!role.leading) {
      if (role.leaderUrl === undefined) throw unavailable('No leader is known');
      return role.leaderUrl;
    }
    if (!leadership.synced()) throw unavailable('The caches are not synced yet');
    return undefined;
  }

  #checkRate(node: string, bytes: number): void {
    const nowMs = this.#options.clock.monotonic();
    const waitMs = this.#rateLimit.take(node, nowMs) || this.#byteLimit.take(node, nowMs, bytes);
    if (waitMs === 0) return;
    throw new ReportRefusal(429, `Node ${node} sends too many or too large reports`, {
      retryAfterSeconds: Math.ceil(waitMs / 1000),
    });
  }

  /**
   * A report is taken only of the node that its token is bound to. A node that is not watched is mostly one that has
   * just joined: that is no fault of its agent, which is asked to come back, and nothing about it is remembered. A Node
   * may be made anew under a running agent, whose token goes on naming the earlier one for most of an hour: that its
   * pod is there as watched tells that it is the same machine.
   */
  #checkNode(body: object, identity: AgentIdentity): ReportSender {
    if (!('node' in body) || typeof body.node !== 'string') {
      throw new ReportRefusal(422, 'node must be the name of the Node', { field: 'node' });
    }
    if (body.node !== identity.node) {
      throw new ReportRefusal(403, `The token is valid only for reports of node ${identity.node}`, { field: 'node' });
    }
    const watchedUid = this.#options.nodeUid(identity.node);
    if (watchedUid === undefined) throw unavailable(`This replica does not know node ${identity.node} yet`);
    return { ...identity, nodeUid: watchedUid };
  }

  #refuse(response: ServerResponse, error: unknown): ReportResult {
    const { logger } = this.#options;
    if (error instanceof ClientGoneError) return 'aborted';
    const refusal = refusalOf(error);
    if (refusal.status === 500) logger.error({ err: error }, 'Failed to handle a report');
    else logger.debug({ code: refusal.code, status: refusal.status, detail: refusal.message }, 'Refused a report');
    if (response.headersSent) response.destroy();
    else sendRefusal(response, refusal);
    return `${refusal.status}`;
  }
}

function refusalOf(error: unknown): ReportRefusal {
  if (error instanceof ReportRefusal) return error;
  if (error instanceof BodyRefusal) return new ReportRefusal(error.status, error.message);
  return new ReportRefusal(500, 'The report could not be handled');
}

function checkTarget(request: IncomingMessage): void {
  if (request.url !== REPORTS_PATH && readTarget(request.url)?.pathname !== REPORTS_PATH)
    throw new ReportRefusal(404, `Send reports to ${REPORTS_PATH}`);
  if (request.method !== 'POST')
    throw new ReportRefusal(405, 'The method must be POST', { headers: { allow: 'POST' } });
}

function requireToken(request: IncomingMessage): string {
  const { authorization } = request.headers;
  if (authorization === undefined) throw unauthenticated('A report needs a bearer token');
  const token = readBearerToken(authorization);
  if (token === undefined) throw unauthenticated('The Authorization header is not a bearer token', 'invalid_request');
  return token;
}

function redirect(response: ServerResponse, leaderUrl: string): ReportResult {
  sendRedirect(response, `${leaderUrl.replace(/\/+$/, '')}${REPORTS_PATH}`);
  return 'redirected';
}
