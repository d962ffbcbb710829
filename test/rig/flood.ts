import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { forgedToken, Held, largeReport, Thief } from './attacks.ts';
import type { Coordinator } from './coordinator.ts';
import { httpGet } from './http-get.ts';

export type FloodOptions = {
  coordinator: Coordinator;
  /** What the attacker has of one node: its agent's token. */
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

/** Each kind of attack at once, until it is stopped. */
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
    const { reportsUrl, healthUrl } = options.coordinator;
    this.#thief = new Thief(reportsUrl, 1);
    const open = (kind: 'idleTls' | 'silent' | 'keepPlain', url: string, count: number) => async () => {
      this.#connections += count;
      await this.#held[kind](url, count);
    };
    this.#running = Promise.all([
      this.#again(open('idleTls', reportsUrl, 10)),
      this.#again(open('silent', reportsUrl, 30)),
      this.#again(open('keepPlain', healthUrl, 20)),
      this.#again(() => this.#makeUp()),
      this.#again(() => this.#sendLarge()),
      this.#again(() => this.#askHealth()),
    ]);
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

  async #makeUp(): Promise<void> {
    const { coordinator, stolen } = this.#options;
    const thief = new Thief(coordinator.reportsUrl, 4);
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
    const answer = await httpGet(`${this.#options.coordinator.healthUrl}/healthz`).catch(() => undefined);
    if (answer?.status !== 200) this.#unhealthy += 1;
    this.#healthMs = Math.max(this.#healthMs, performance.now() - startMs);
  }
}

function add(sum: Map<number, number>, more: ReadonlyMap<number, number>): void {
  for (const [status, count] of more) sum.set(status, (sum.get(status) ?? 0) + count);
}
