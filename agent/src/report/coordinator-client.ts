import { CaFile } from '@rollcall/common/ca-file.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { retryAfterMs } from '@rollcall/common/retry-after.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { REPORTS_PATH } from '@rollcall/common/well-known.ts';
import { redirectOrigin } from './coordinator-url.ts';
import { type HttpAnswer, post as postOverHttp } from './http-post.ts';
import { KeptConnection } from './kept-connection.ts';
import type { ReportMetrics, ReportResult } from './metrics.ts';
import { parseReply, problemDetail, type Reply } from './reply.ts';
import { readToken } from './token-file.ts';
import { coordinatorUnreachable } from './unreachable.ts';

/** Half of the time after which a node counts as silent, unless told: no answer, whoever gives it, makes an agent silent. */
const RETRY_AFTER_MS_MAX = 15_000;

const REDIRECTS_MAX = 3;

export type CoordinatorClientOptions = {
  caFile: string;
  serverName: string;
  tokenFile: string;
  clock: Clock;
  logger: Logger;
  metrics: ReportMetrics;
  /** How a report is carried; over HTTP unless told. */
  post?: typeof postOverHttp;
  /** Reads the token; `readToken` of the file unless told. */
  token?: () => string;
};

/** Who took a report, and what it answered. */
export type Delivery = { origin: string; reply: Reply };

/** Makes the JSON of a report for the coordinator at `origin`. Called once for each transmission. */
export type RenderReport = (origin: string) => string;

/** Carries reports to a coordinator: its identity is verified before it sees the token, and nobody else sees it. */
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
