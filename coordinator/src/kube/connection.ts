import { Agent as PlainAgent } from 'node:http';
import { type RequestOptions, Agent as TlsAgent } from 'node:https';
import type { Clock } from '@rollcall/common/clock.ts';
import type { ApiAccess } from './api-access.ts';

/** The address, the sockets and the credentials of a request. */
export type Destination = RequestOptions & { protocol: 'https:' | 'http:'; basePath: string };

/** How long what the library gave is used, so that it need not look into files, or run a plugin, for every request. */
const CREDENTIALS_MS = 5000;

/** The interval at which a plugin runs again while its credentials are not accepted. */
const RENEWAL_PAUSE_MS = 10_000;

/**
 * Shorter than the 90 s after which an API server closes an idle connection, and than what load balancers allow, so
 * that a request seldom meets a connection that is just being closed.
 */
const IDLE_SOCKET_MS = 30_000;

/** The kernel asks a silent peer after so long, and gives the connection up about 10 s later. */
const KEEP_ALIVE_PROBE_MS = 15_000;

/**
 * The sockets and credentials of one client. A socket belongs to the credentials with which it was opened: Node keys
 * its pool by them, so that a renewed client certificate or CA is used for new connections by itself.
 */
export class Connection {
  readonly #access: ApiAccess;
  readonly #clock: Clock;
  readonly #plain: boolean;
  readonly #address: Pick<Destination, 'protocol' | 'host' | 'port' | 'basePath'>;
  readonly #requests: TlsAgent | PlainAgent;
  /** Watches stay open; they must not take the places of requests. */
  readonly #streams: TlsAgent | PlainAgent;
  #renewedAt: number | undefined;
  #credentials: { options: Promise<RequestOptions>; takenAt: number } | undefined;

  constructor(access: ApiAccess, options: { maxSockets: number; clock: Clock }) {
    this.#access = access;
    this.#clock = options.clock;
    const server = new URL(access.server);
    this.#plain = server.protocol === 'http:';
    this.#address = {
      protocol: this.#plain ? 'http:' : 'https:',
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port || (this.#plain ? 80 : 443),
      basePath: server.pathname.replace(/\/$/, ''),
    };
    const keepAlive = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_PROBE_MS, timeout: IDLE_SOCKET_MS };
    const Agent = this.#plain ? PlainAgent : TlsAgent;
    this.#requests = new Agent({ ...keepAlive, maxSockets: options.maxSockets });
    this.#streams = new Agent(keepAlive);
  }

  /** Throws what reading a token or running a credential plugin throws. */
  async destination(use: 'request' | 'stream'): Promise<Destination> {
    const credentials = await this.#currentCredentials();
    const { agent: proxy, ...options } = credentials;
    const own = use === 'stream' ? this.#streams : this.#requests;
    return { ...options, ...this.#address, agent: this.#access.viaProxy && proxy ? proxy : own };
  }

  /** Renews the credentials after they were refused, unless that was done a moment ago. Returns whether it does. */
  renew(): boolean {
    const now = this.#clock.monotonic();
    if (this.#renewedAt !== undefined && now - this.#renewedAt < RENEWAL_PAUSE_MS) return false;
    this.#renewedAt = now;
    this.#credentials = undefined;
    this.#access.renew();
    return true;
  }

  close(): void {
    this.#requests.destroy();
    this.#streams.destroy();
  }

  #currentCredentials(): Promise<RequestOptions> {
    const now = this.#clock.monotonic();
    if (this.#credentials && now - this.#credentials.takenAt < CREDENTIALS_MS) return this.#credentials.options;
    const options = this.#takeCredentials();
    this.#credentials = { options, takenAt: now };
    // A failed read is not kept; its callers receive the error.
    options.catch(() => {
      this.#credentials = undefined;
    });
    return options;
  }

  async #takeCredentials(): Promise<RequestOptions> {
    const options = await this.#access.options();
    const authorization = options.headers['Authorization'];
    // A token file may end with a newline, which a header must not.
    if (authorization !== undefined) options.headers['Authorization'] = authorization.trim();
    return options;
  }
}
