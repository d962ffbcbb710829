import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Clock } from '@rollcall/common/clock.ts';
import { retryAfterMs } from '@rollcall/common/retry-after.ts';
import { VERSION } from '@rollcall/common/version.ts';

/** A date far ahead is rather a clock that is wrong. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/**
 * What became of a message. `maybe`: it failed, but the receiver may have taken it. `retryAfterMs` is how long the
 * receiver asked to be left alone.
 */
export type PostOutcome = { taken: 'yes' } | { taken: 'no' | 'maybe'; error: Error; retryAfterMs: number };

export type PosterOptions = {
  url: URL;
  /** Most requests at once. */
  maxSockets: number;
  clock: Clock;
};

/** From the beginning, connecting included, to the end of the answer. */
const TIMEOUT_MS = 5000;
/** The answer is discarded; a connection whose answer is longer is not worth keeping. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** Shorter than the 5 s after which many servers close an idle connection. */
const IDLE_SOCKET_MS = 4000;
/** Statuses of a gateway, which does not know what the receiver did. */
const GATEWAY_STATUSES: ReadonlySet<number | undefined> = new Set([502, 504]);
const THROTTLE_STATUSES: ReadonlySet<number | undefined> = new Set([429, 503]);

type PostAttempt = { outcome: PostOutcome; stale: boolean };

/** Posts JSON to one URL, over connections that are kept for a while. */
export class Poster {
  readonly #options: PosterOptions;
  readonly #agent: PlainAgent | TlsAgent;

  constructor(options: PosterOptions) {
    this.#options = options;
    const Agent = options.url.protocol === 'https:' ? TlsAgent : PlainAgent;
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.maxSockets, timeout: IDLE_SOCKET_MS });
  }

  /** Never rejects. Any status but 2xx is a failure, redirects included: they are not followed. */
  async post(body: object, signal: AbortSignal): Promise<PostOutcome> {
    const payload = Buffer.from(JSON.stringify(body));
    const first = await this.#attempt(payload, signal);
    if (!first.stale || signal.aborted) return first.outcome;
    // The receiver had closed the idle connection: most likely it has seen nothing, but that is not certain.
    const { outcome } = await this.#attempt(payload, signal);
    return outcome.taken === 'no' ? { ...outcome, taken: 'maybe' } : outcome;
  }

  close(): void {
    this.#agent.destroy();
  }

  #attempt(payload: Buffer, signal: AbortSignal): Promise<PostAttempt> {
    const { url, clock } = this.#options;
    const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
    return new Promise((resolve) => {
      const request = send(url, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          'content-type': 'application/json',
          'content-length': payload.length,
          'user-agent': `rollcall-coordinator/${VERSION}`,
        },
      });
      let connected = false;
      let error: NodeJS.ErrnoException = new Error('The connection was closed without an answer');
      let outcome: PostOutcome | undefined;
      const cancel = clock.after(TIMEOUT_MS, () => request.destroy(new Error(`No answer within ${TIMEOUT_MS} ms`)));
      const abort = () => request.destroy(new Error('The program is stopping'));
      signal.addEventListener('abort', abort, { once: true });
      request.once('socket', (socket) => {
        connected = !socket.connecting && !('secureConnecting' in socket && socket.secureConnecting);
        socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
          connected = true;
        });
      });
      request.on('error', (err) => {
        error = err;
      });
      request.once('response', (response) => {
        outcome = judge(response, clock.now());
        drain(response, () => request.destroy());
      });
      request.once('close', () => {
        cancel();
        signal.removeEventListener('abort', abort);
        const stale = !outcome && request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        resolve({ outcome: outcome ?? { taken: connected ? 'maybe' : 'no', error, retryAfterMs: 0 }, stale });
      });
      if (signal.aborted) abort();
      request.end(payload);
    });
  }
}

function judge({ statusCode: status = 0, headers }: IncomingMessage, nowMs: number): PostOutcome {
  if (status >= 200 && status <= 299) return { taken: 'yes' };
  return {
    taken: GATEWAY_STATUSES.has(status) ? 'maybe' : 'no',
    error: new Error(`The receiver answered ${status}`),
    retryAfterMs: THROTTLE_STATUSES.has(status) ? retryAfterMs(headers['retry-after'], nowMs, RETRY_AFTER_MS_MAX) : 0,
  };
}

/** Reads to the end, or until it is too much. What goes wrong with it changes nothing: the status has been seen. */
function drain(response: IncomingMessage, giveUp: () => void): void {
  let bytes = 0;
  response.on('error', () => {});
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) giveUp();
  });
}
