import type { AgentIdentity, Verdict } from './agent-identity.ts';
import type { ReportRefusal } from './report-refusal.ts';

type Entry<T> = { value: T; untilMs: number };

export type VerdictCacheOptions = {
  /** Most tokens of agents that are remembered. */
  acceptedMax: number;
  /** Most refused tokens that are remembered; apart, so that a flood of them does not push out the others. */
  refusedMax: number;
};

/** Verdicts by a hash of the token. Where there is no room the oldest goes. All times are monotonic milliseconds. */
export class VerdictCache {
  readonly #accepted = new Map<string, Entry<AgentIdentity>>();
  readonly #refused = new Map<string, Entry<ReportRefusal>>();
  readonly #options: VerdictCacheOptions;

  constructor(options: VerdictCacheOptions) {
    this.#options = options;
  }

  get(key: string, nowMs: number): Verdict | undefined {
    const accepted = current(this.#accepted, key, nowMs);
    if (accepted) return { identity: accepted };
    const refused = current(this.#refused, key, nowMs);
    return refused && { refusal: refused };
  }

  accept(key: string, identity: AgentIdentity, untilMs: number): void {
    put(this.#accepted, key, { value: identity, untilMs }, this.#options.acceptedMax);
  }

  refuse(key: string, refusal: ReportRefusal, untilMs: number): void {
    this.#accepted.delete(key);
    put(this.#refused, key, { value: refusal, untilMs }, this.#options.refusedMax);
  }
}

function current<T>(entries: Map<string, Entry<T>>, key: string, nowMs: number): T | undefined {
  const entry = entries.get(key);
  if (entry && entry.untilMs > nowMs) return entry.value;
  entries.delete(key);
  return undefined;
}

function put<T>(entries: Map<string, Entry<T>>, key: string, entry: Entry<T>, max: number): void {
  entries.delete(key);
  entries.set(key, entry);
  const [oldest] = entries.keys();
  if (oldest !== undefined && entries.size > max) entries.delete(oldest);
}
