import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { exchange } from './exchange.ts';

const TIMEOUT_MS = 20_000;

/** The API server answered with another status than 200 or 201. */
export class KubeApiError extends Error {
  override readonly name = 'KubeApiError';
  readonly status: number;
  /** What the answer is about, such as the resource that is not there; not everything that is no Status says it. */
  readonly about: string | undefined;

  constructor(status: number, message: string, about?: string) {
    super(message);
    this.status = status;
    this.about = about;
  }
}

type KubeList<T> = { items: T[]; metadata: { continue?: string } };

/** Reads the API of a cluster as the user of a kubeconfig, with whatever credentials that names. */
export class KubeApi {
  readonly kubeConfig: KubeConfig;
  #clockAheadMs = 0;

  constructor(kubeConfig: KubeConfig) {
    this.kubeConfig = kubeConfig;
  }

  /** How far the clock of the API server is ahead of this machine's, as far as answers tell; less than 5 s is 0. */
  get clockAheadMs(): number {
    return this.#clockAheadMs;
  }

  get<T>(path: string): Promise<T> {
    return this.#request<T>('GET', path);
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#request<T>('POST', path, body);
  }

  /**
   * Whether the API server would accept the spec of the object, in place of the one that is there, or the object as a new
   * one. It keeps nothing. `collection`: the path of the others of its kind. @throws KubeApiError with what it says.
   */
  async tryReplace(collection: string, name: string, object: { spec?: unknown }): Promise<void> {
    const query = 'dryRun=All&fieldValidation=Strict&fieldManager=kubectl-rollcall';
    const operations = [{ op: 'add', path: '/spec', value: object.spec ?? {} }];
    const type = { 'content-type': 'application/json-patch+json' };
    try {
      await this.#request('PATCH', `${collection}/${encodeURIComponent(name)}?${query}`, operations, type);
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status !== 404) throw error;
      await this.#request('POST', `${collection}?${query}`, object, { 'content-type': 'application/json' });
    }
  }

  /** All of a list, in pages. `trim`: what is kept of an object, where that is less. */
  async list<T>(path: string, trim: (item: T) => T = (item) => item): Promise<T[]> {
    const items: T[] = [];
    let next = '';
    do {
      const more = `${path.includes('?') ? '&' : '?'}limit=500${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
      const page = await this.get<KubeList<T>>(`${path}${more}`);
      for (const item of page.items) items.push(trim(item));
      next = page.metadata.continue ?? '';
    } while (next !== '');
    return items;
  }

  async #request<T>(method: string, path: string, body?: unknown, headers: OutgoingHttpHeaders = {}): Promise<T> {
    const cluster = this.kubeConfig.getCurrentCluster();
    if (!cluster) throw new Error('The kubeconfig names no cluster');
    const options: RequestOptions = { method, headers: { accept: 'application/json', ...headers } };
    await this.kubeConfig.applyToHTTPSOptions(options);
    const url = new URL(`${cluster.server.replace(/\/+$/, '')}${path}`);
    const asked = body === undefined ? undefined : JSON.stringify(body);
    const { status, text, date } = await exchange(url, { ...options, timeoutMs: TIMEOUT_MS, body: asked });
    this.#noteClock(date);
    if (status === 200 || status === 201) return JSON.parse(text) as T;
    const { message = `The API server answered ${status}`, details } = statusIn(text);
    throw new KubeApiError(status, message, details?.kind);
  }

  /** The header has whole seconds, and the answer was on its way. */
  #noteClock(date = ''): void {
    const aheadMs = Date.parse(date) - Date.now();
    if (!Number.isNaN(aheadMs)) this.#clockAheadMs = Math.abs(aheadMs) < 5000 ? 0 : aheadMs;
  }
}

function statusIn(answer: string): { message?: string; details?: { kind?: string } } {
  try {
    return JSON.parse(answer) as { message?: string; details?: { kind?: string } };
  } catch {
    return {};
  }
}
