import { Agent, type AgentOptions, type RequestOptions, request } from 'node:https';
import type { KeyPairPem } from './certificates.ts';

/** Any Kubernetes object. Where a test looks into spec or status, it says by a type of its own what it expects. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** An answer of the API server other than 2xx. */
export class ApiError extends Error {
  readonly status: number;
  /** The machine-readable reason of the Status object, such as `AlreadyExists`. */
  readonly reason: string | undefined;
  readonly body: string;

  constructor(method: string, path: string, status: number, body: string) {
    const answer = parseStatus(body);
    super(`${method} ${path}: ${status} ${answer.message ?? body.slice(0, 300)}`);
    this.name = 'ApiError';
    this.status = status;
    this.reason = answer.reason;
    this.body = body;
  }
}

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

export interface ApiClientOptions {
  readonly url: string;
  readonly ca: string;
  /** A function is called for each request, so that a renewed one counts. */
  readonly token?: string | (() => string);
  readonly clientCert?: KeyPairPem;
  /** How the certificate of the API server is verified, if not by its address. */
  readonly verification?: Pick<AgentOptions, 'rejectUnauthorized' | 'servername'>;
  /** For one request, watches excepted; defaults to 30 s. */
  readonly timeoutMs?: number;
}

/** A thin JSON client for the API server: keep-alive, TLS, no retries. Paths are absolute, with query. */
export class ApiClient {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  readonly #agent: Agent;
  readonly #token: () => string | undefined;
  readonly #timeoutMs: number;

  constructor(options: ApiClientOptions) {
    this.url = options.url;
    this.ca = options.ca;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#agent = new Agent({
      ...options.verification,
      keepAlive: true,
      ca: options.ca,
      ...(options.clientCert === undefined ? {} : { cert: options.clientCert.cert, key: options.clientCert.key }),
    });
    const { token } = options;
    this.#token = typeof token === 'function' ? token : () => token;
  }

  async get<T extends KubeObject = KubeObject>(path: string): Promise<T> {
    return JSON.parse(await this.text('GET', path)) as T;
  }

  async list<T extends KubeObject = KubeObject>(path: string): Promise<T[]> {
    const answer = JSON.parse(await this.text('GET', path)) as { items: T[] };
    return answer.items;
  }

  async post<T extends KubeObject = KubeObject>(path: string, body: object): Promise<T> {
    return JSON.parse(await this.text('POST', path, JSON.stringify(body))) as T;
  }

  async put<T extends KubeObject = KubeObject>(path: string, body: object): Promise<T> {
    return JSON.parse(await this.text('PUT', path, JSON.stringify(body))) as T;
  }

  /** Defaults to a merge patch; an apply patch needs `fieldManager` in the path's query. */
  async patch<T extends KubeObject = KubeObject>(
    path: string,
    body: object,
    contentType: PatchType = 'application/merge-patch+json',
  ): Promise<T> {
    return JSON.parse(await this.text('PATCH', path, JSON.stringify(body), contentType)) as T;
  }

  async delete(path: string, options: object = {}): Promise<void> {
    await this.text('DELETE', path, JSON.stringify(options));
  }

  /** The answer as text. @throws {ApiError} on a status other than 2xx, and what the socket throws. */
  async text(method: string, path: string, body?: string, contentType?: string): Promise<string> {
    const { status, body: text } = await this.exchange(method, path, body, contentType);
    if (status < 200 || status > 299) throw new ApiError(method, path, status, text);
    return text;
  }

  /** One request and its whole answer, whatever its status. */
  exchange(
    method: string,
    path: string,
    body?: string,
    contentType = 'application/json',
  ): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const options = this.requestOptions(method);
      // Node itself gives a DELETE no length, and its body would be taken for the next request.
      const sized = { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body ?? '') };
      const headers = body === undefined ? options.headers : { ...options.headers, ...sized };
      const outgoing = request(
        new URL(path, this.url),
        { ...options, headers, timeout: this.#timeoutMs },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
          response.on('error', reject);
        },
      );
      outgoing.on('timeout', () =>
        outgoing.destroy(new Error(`${method} ${path}: no answer in ${this.#timeoutMs} ms`)),
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  /** What a request of this client is sent with, for those who need the raw stream (watches). */
  requestOptions(method: string): RequestOptions & { headers: Record<string, string> } {
    const token = this.#token();
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const headers = { Accept: 'application/json', 'User-Agent': 'rollcall-test', ...authorization };
    return { method, agent: this.#agent, headers };
  }

  /** Closes idle and busy connections. */
  close(): void {
    this.#agent.destroy();
  }
}

function parseStatus(body: string): { message?: string; reason?: string } {
  try {
    return JSON.parse(body) as { message?: string; reason?: string };
  } catch {
    return {};
  }
}
