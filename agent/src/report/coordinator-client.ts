import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import { CaFile } from '@rollcall/common/ca-file.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { retryAfterMs } from '@rollcall/common/retry-after.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { REPORTS_PATH } from '@rollcall/common/well-known.ts';
import { redirectOrigin } from './coordinator-url.ts';
import { type HttpAnswer, post as postOverHttp } from './http-post.ts';
import type { ReportMetrics, ReportResult } from './metrics.ts';
import { parseReply, problemDetail, type Reply } from './reply.ts';

/** What the codes of OpenSSL for the time of validity mean. */
const BY_TIME: Readonly<Record<string, string>> = {
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_HAS_EXPIRED: 'has expired',
};

/** The error of a coordinator that was not reached; it names the clocks where they are the likely cause. */
function coordinatorUnreachable(origin: string, cause: unknown, nowMs: number): CodedError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const byTime = BY_TIME[code];
  const message =
    byTime === undefined
      ? `Cannot reach the coordinator at ${origin}`
      : `The certificate of the coordinator at ${origin} ${byTime} by the clock of this node, ${new Date(nowMs).toISOString()}; the clock of this node or of the coordinator is probably wrong`;
  return new CodedError('COORDINATOR_UNREACHABLE', message, { cause, fields: { coordinator: origin } });
}

/** One connection to one coordinator, kept from report to report. */
export class KeptConnection {
  #agent: Agent | undefined;
  #purpose = '';

  /**
   * The Node.js agent that holds the connection to `origin`. What was kept for another origin, or was verified by
   * another CA, is closed: neither its sockets nor its TLS sessions serve again.
   */
  agentFor(origin: string, ca: string | undefined): Agent {
    const purpose = `${origin}\n${ca ?? ''}`;
    if (this.#agent && purpose === this.#purpose) return this.#agent;
    this.close();
    const { Agent } = process.getBuiltinModule(origin.startsWith('https:') ? 'node:https' : 'node:http');
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.#purpose = purpose;
    return this.#agent;
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
  }
}

/**
 * Half of the default time after which a node counts as silent: no answer, not even a false one, makes an agent silent.
 */
const RETRY_AFTER_MS_MAX = 15_000;

const REDIRECTS_MAX = 3;

export type CoordinatorClientOptions = {
  caFile: string;
  serverName: string;
  tokenFile: string;
  clock: Clock;
  logger: Logger;
  metrics: ReportMetrics;
  /** How a report is carried; defaults to HTTP. */
  post?: typeof postOverHttp;
  /** Reads the token; defaults to `readToken` of the file. */
  token?: () => string;
};

/** Who took a report, and what it answered. */
export type Delivery = { origin: string; reply: Reply };

/** Makes the JSON of a report for the coordinator at `origin`. Called once for each transmission. */
export type RenderReport = (origin: string) => string;

/**
 * Carries reports to a coordinator: its identity is verified before the token is sent, and no other server receives the
 * token.
 */
export class CoordinatorClient {
  readonly #options: CoordinatorClientOptions;
  readonly #ca: CaFile;
  readonly #connection = new KeptConnection();

  constructor(options: CoordinatorClientOptions) {
    this.#options = options;
    this.#ca = new CaFile(options.caFile, options.logger);
  }

  /**
   * Sends a report to `origin`, or to where that redirects. Takes at most `timeoutMs`, redirects included. Throws
   * COORDINATOR_UNREACHABLE, COORDINATOR_REFUSED (fields: `status`, `retryAfterMs`), CERTIFICATE_INVALID or
   * TOKEN_UNREADABLE.
   */
  async deliver(origin: string, render: RenderReport, timeoutMs: number, signal: AbortSignal): Promise<Delivery> {
    const { clock } = this.#options;
    const controller = new AbortController();
    const stop = () => controller.abort(signal.reason);
    const cancel = clock.after(timeoutMs, () => controller.abort(new Error(`No answer within ${timeoutMs} ms`)));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      return await this.#follow(origin, render, controller.signal);
    } finally {
      cancel();
      signal.removeEventListener('abort', stop);
    }
  }

  close(): void {
    this.#connection.close();
  }

  async #follow(first: string, render: RenderReport, signal: AbortSignal): Promise<Delivery> {
    let origin = first;
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#send(origin, render, signal);
      if (answer.status === 200) return { origin, reply: this.#accept(origin, answer) };
      if (answer.status !== 307) throw this.#refusal(origin, answer, problemDetail(answer.body));
      const next = redirectOrigin(answer.headers.location, origin);
      if (next === undefined)
        throw this.#refusal(origin, answer, {
          detail: 'It redirected to an address to which the agent may not send its token',
        });
      if (redirects === REDIRECTS_MAX) throw this.#refusal(origin, answer, { detail: 'It redirected too many times' });
      this.#count('redirected');
      origin = next;
    }
  }

  async #send(origin: string, render: RenderReport, signal: AbortSignal): Promise<HttpAnswer> {
    const { serverName, tokenFile, post = postOverHttp, token = () => readToken(tokenFile) } = this.#options;
    const encrypted = origin.startsWith('https:');
    const ca = encrypted ? this.#ca.current() : undefined;
    const headers = {
      authorization: `Bearer ${token()}`,
      'content-type': 'application/json',
      accept: 'application/json, application/problem+json',
      'user-agent': `rollcall-agent/${VERSION}`,
    };
    try {
      return await post({
        url: `${origin}${REPORTS_PATH}`,
        agent: this.#connection.agentFor(origin, ca),
        tls: ca === undefined ? {} : { ca, servername: serverName },
        headers,
        body: () => render(origin),
        signal,
      });
    } catch (error) {
      this.#count('failed');
      const cause = signal.aborted ? signal.reason : error;
      throw coordinatorUnreachable(origin, cause, this.#options.clock.now());
    }
  }

  #accept(origin: string, answer: HttpAnswer): Reply {
    const parsed = parseReply(answer.body);
    if ('problem' in parsed) throw this.#refusal(origin, answer, { detail: parsed.problem });
    this.#count('accepted');
    return parsed.reply;
  }

  #refusal(origin: string, { status, headers }: HttpAnswer, said: ReturnType<typeof problemDetail>): CodedError {
    this.#count('refused');
    const why = said.detail ?? said.title ?? 'no reason given';
    return new CodedError('COORDINATOR_REFUSED', `The coordinator at ${origin} answered ${status}: ${why}`, {
      fields: {
        coordinator: origin,
        status,
        ...said,
        retryAfterMs: retryAfterMs(headers['retry-after'], this.#options.clock.now(), RETRY_AFTER_MS_MAX),
      },
    });
  }

  #count(result: ReportResult): void {
    this.#options.metrics.reports.inc({ result });
  }
}

/**
 * The token as it is now: the kubelet replaces the file long before the token ends, so it is read for each report.
 * Throws TOKEN_UNREADABLE.
 */
export function readToken(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new CodedError('TOKEN_UNREADABLE', `Cannot read the token file ${path}`, { cause, fields: { path } });
  }
  // RFC 6750, section 2.1. Anything else would also break the header that it goes into.
  if (!/^[\w.~+/-]+=*$/.test(token)) {
    throw new CodedError('TOKEN_UNREADABLE', `There is no token in ${path}`, { fields: { path } });
  }
  return token;
}
