import type { IncomingMessage } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import { Slices } from '@rollcall/common/slices.ts';
import type { ApiAccess } from './api-access.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from './client.ts';
import { Connection } from './connection.ts';
import { readText, StaleSocketError, sendRequest, statusError, type WireRequest } from './exchange.ts';

/** Ends a request when its time is up, or when the caller no longer wants it. */
export class Limit {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort(this.#outer?.reason);
  #cancelTimer = () => {};

  constructor(clock: Clock, outer: AbortSignal | undefined) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer?.aborted) this.#abort();
    outer?.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time anew. When it is up, the signal aborts with KUBE_UNREACHABLE. */
  within(delayMs: number, message: string, fields: Record<string, unknown> = {}): void {
    this.#cancelTimer();
    const abort = () => this.#controller.abort(new CodedError('KUBE_UNREACHABLE', message, { fields }));
    this.#cancelTimer = this.#clock.after(delayMs, abort);
  }

  /** The fields are what `isSilence` knows it by. */
  withinSilence(idleTimeoutMs: number): void {
    this.within(idleTimeoutMs, 'The watch was silent for too long', { idleTimeoutMs });
  }

  end(): void {
    this.#cancelTimer();
    this.#outer?.removeEventListener('abort', this.#abort);
  }
}

const NEWLINE = 0x0a;

/**
 * Puts JSON lines together from chunks of bytes. It splits bytes, not text: a chunk may end in the middle of a
 * character.
 */
export class JsonLines {
  readonly #lineBytesMax: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** The values of the lines that `chunk` completes. Throws KUBE_WATCH_BROKEN, and is of no further use then. */
  *push(chunk: Buffer): Generator<unknown> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#length = 0;
      const text = line?.toString('utf8').trim() ?? '';
      if (text !== '') yield parse(text);
    }
    this.#keep(chunk.subarray(start));
  }

  /** Throws KUBE_WATCH_BROKEN when the last line was cut off. */
  end(): void {
    if (this.#length > 0) throw new CodedError('KUBE_WATCH_BROKEN', 'The watch ended in the middle of a line');
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#length += bytes.length;
    if (this.#length > this.#lineBytesMax) {
      throw new CodedError('KUBE_WATCH_BROKEN', `The watch sent a line of more than ${this.#lineBytesMax} bytes`);
    }
    this.#parts.push(bytes);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CodedError('KUBE_WATCH_BROKEN', 'The watch sent a line that is not JSON', { cause });
  }
}

export type KubeClientOptions = {
  userAgent: string;
  /** Connections for requests; watches have theirs beside them. */
  maxSockets: number;
  clock: Clock;
  /** Called for every answer: the verb in Kubernetes' words, and the status, or `error` when there was no answer. */
  onAnswer?: (verb: string, code: string) => void;
  /** Called once for each text of a warning of the API server, such as a version that will be removed. */
  onWarning?: (text: string, path: string) => void;
};

/** Largest body of an answer: a page of 500 Nodes of a GPU fleet is about 25 MB. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024;
/** Largest event of a watch: etcd holds objects of up to 1.5 MB. */
const EVENT_BYTES_MAX = 8 * 1024 * 1024;
/** From the request to the headers of the answer: a watch is answered before there is anything to see. */
const STREAM_OPEN_MS = 30_000;

/** How many different warnings are reported. The API server limits their number for one answer, but not for all. */
const WARNINGS_MAX = 100;

type StreamRequest = Parameters<KubeClient['stream']>[0];

/** A client with connections of its own. */
export function createKubeClient(access: ApiAccess, options: KubeClientOptions): KubeClient {
  return new HttpsKubeClient(access, options);
}

/** The query of a request. The API server gives a write up when its client no longer waits for it: it must not be done later. */
export function queryOf({
  method,
  query,
  timeoutMs,
}: Pick<KubeRequest, 'method' | 'query'> & { timeoutMs?: number }): Record<string, string> | undefined {
  if (method === 'GET' || timeoutMs === undefined) return query;
  return { ...query, timeout: `${Math.max(1, Math.ceil(timeoutMs))}ms` };
}

class HttpsKubeClient implements KubeClient {
  readonly #connection: Connection;
  readonly #options: KubeClientOptions;
  readonly #warnings = new Set<string>();

  constructor(access: ApiAccess, options: KubeClientOptions) {
    this.#connection = new Connection(access, options);
    this.#options = options;
  }

  async request<T>(request: KubeRequest): Promise<T> {
    const limit = new Limit(this.#options.clock, request.signal);
    const { timeoutMs } = request;
    // The fields are what `isTimeout` knows it by.
    limit.within(timeoutMs, 'The API server did not answer in time', { timeoutMs });
    try {
      const response = await this.#respond(request, 'request', limit.signal);
      const text = await readText(response, ANSWER_BYTES_MAX);
      const value = JSON.parse(text) as T;
      this.#count(verbOf(request), response.statusCode);
      return value;
    } catch (err) {
      const failure = toCodedError(err, request, limit.signal);
      this.#count(verbOf(request), failure instanceof KubeStatusError ? failure.status : undefined);
      throw failure;
    } finally {
      limit.end();
    }
  }

  async stream(request: StreamRequest, onObject: (object: unknown) => void): Promise<void> {
    const limit = new Limit(this.#options.clock, request.signal);
    limit.within(Math.min(STREAM_OPEN_MS, request.idleTimeoutMs), 'The API server did not answer in time');
    const receiver = new Receiver(onObject);
    try {
      const response = await this.#openStream(request, limit.signal);
      request.onOpen?.();
      const lines = new JsonLines(EVENT_BYTES_MAX);
      const slices = new Slices();
      limit.withinSilence(request.idleTimeoutMs);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        limit.withinSilence(request.idleTimeoutMs);
        for (const object of lines.push(chunk)) {
          if (request.signal?.aborted) return;
          receiver.take(object);
          await slices.pause();
        }
      }
      lines.end();
    } catch (err) {
      if (receiver.hasThrown(err)) throw err;
      if (!request.signal?.aborted) throw toCodedError(err, request, limit.signal);
    } finally {
      limit.end();
    }
  }

  close(): void {
    this.#connection.close();
  }

  async #openStream(request: StreamRequest, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      const response = await this.#respond(request, 'stream', signal);
      this.#count('watch', response.statusCode);
      return response;
    } catch (err) {
      if (!request.signal?.aborted) this.#count('watch', err instanceof KubeStatusError ? err.status : undefined);
      throw err;
    }
  }

  /** A 2xx answer whose body has still to be read. Throws KubeStatusError for any other. */
  async #respond(
    request: Omit<KubeRequest, 'timeoutMs'> & { timeoutMs?: number },
    use: 'request' | 'stream',
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    let response = await this.#send(request, use, signal);
    // The request had no effect, since its sender was not authenticated.
    if (response.statusCode === 401 && this.#connection.renew()) {
      response.resume();
      response = await this.#send(request, use, signal);
    }
    const status = response.statusCode ?? 0;
    for (const text of warningsOf(response)) this.#warn(text, request.path);
    if (status >= 200 && status <= 299) return response;
    throw await statusError(response, { method: request.method, path: request.path });
  }

  async #send(
    request: Omit<KubeRequest, 'timeoutMs'> & { timeoutMs?: number },
    use: 'request' | 'stream',
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const destination = await Promise.race([this.#connection.destination(use), rejectionOf(signal)]);
    const wire = this.#wireRequest(request);
    return sendRequest(destination, wire, signal).catch((err: unknown) => {
      // Asking again is harmless for a GET, and for nothing else: a write may have been done.
      if (err instanceof StaleSocketError && request.method === 'GET') return sendRequest(destination, wire, signal);
      throw err;
    });
  }

  #warn(text: string, path: string): void {
    if (this.#warnings.has(text) || this.#warnings.size >= WARNINGS_MAX) return;
    this.#warnings.add(text);
    this.#options.onWarning?.(text, path);
  }

  #wireRequest(request: Omit<KubeRequest, 'timeoutMs'> & { timeoutMs?: number }): WireRequest {
    const { method, path, body, contentType, accept } = request;
    const query = queryOf(request);
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = {
      'User-Agent': this.#options.userAgent,
      Accept: accept ?? 'application/json',
    };
    if (payload !== undefined) {
      headers['Content-Type'] = contentType ?? 'application/json';
      headers['Content-Length'] = String(Buffer.byteLength(payload));
    }
    const search = query ? `?${new URLSearchParams(query)}` : '';
    return { method, path: `${path}${search}`, headers, body: payload };
  }

  #count(verb: string, status: number | undefined): void {
    this.#options.onAnswer?.(verb, status === undefined ? 'error' : String(status));
  }
}

/** Keeps what the receiver of a stream throws apart from what goes wrong with the stream. */
class Receiver {
  readonly #onObject: (object: unknown) => void;
  #thrown: { error: unknown } | undefined;

  constructor(onObject: (object: unknown) => void) {
    this.#onObject = onObject;
  }

  take(object: unknown): void {
    try {
      this.#onObject(object);
    } catch (error) {
      this.#thrown = { error };
      throw error;
    }
  }

  hasThrown(error: unknown): boolean {
    return this.#thrown !== undefined && this.#thrown.error === error;
  }
}

/** When the limit was reached, the socket only says that it was torn down; the signal knows why. */
function toCodedError(err: unknown, request: Pick<KubeRequest, 'method' | 'path'>, limit: AbortSignal): CodedError {
  const cause = limit.aborted ? limit.reason : err;
  if (cause instanceof CodedError) return cause;
  return new CodedError('KUBE_UNREACHABLE', 'The API server could not be reached', {
    cause,
    fields: { method: request.method, path: request.path },
  });
}

/** The texts of the Warning headers: `299 - "TEXT"`, several joined by commas (RFC 7234, section 5.5). */
function warningsOf({ headers }: IncomingMessage): string[] {
  const texts = headers.warning?.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g) ?? [];
  return [...texts].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function verbOf({ method, query, contentType }: KubeRequest): string {
  if (method === 'GET') return query?.['limit'] === undefined ? 'get' : 'list';
  if (method === 'PATCH') return contentType?.startsWith('application/apply-patch') ? 'apply' : 'patch';
  return { POST: 'create', PUT: 'update', DELETE: 'delete' }[method];
}
