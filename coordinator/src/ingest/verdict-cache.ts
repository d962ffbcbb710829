import type { AgentIdentity, TokenDecision } from './agent-identity.ts';
import type { ReportRefusal } from './report-refusal.ts';

type Entry<T> = { value: T; untilMs: number };

export type TokenDecisionCacheOptions = {
  /** Most tokens of agents that are remembered. */
  acceptedMax: number;
  /** Most refused tokens that are remembered; apart, so that a flood of them does not push out the others. */
  refusedMax: number;
};

/**
 * Verdicts by a hash of the token. The oldest go when they are over, and where there is no room. All times are monotonic
 * milliseconds.
 */
export class TokenDecisionCache {
  readonly #accepted = new Map<string, Entry<AgentIdentity>>();
  readonly #refused = new Map<string, Entry<ReportRefusal>>();
  readonly #options: TokenDecisionCacheOptions;

  constructor(options: TokenDecisionCacheOptions) {
    this.#options = options;
  }

  get(key: string, nowMs: number): TokenDecision | undefined {
    const accepted = current(this.#accepted, key, nowMs);
    if (accepted) return { identity: accepted };
    const refused = current(this.#refused, key, nowMs);
    return refused && { refusal: refused };
  }

  accept(key: string, identity: AgentIdentity, nowMs: number, untilMs: number): void {
    put(this.#accepted, key, { value: identity, untilMs }, nowMs, this.#options.acceptedMax);
  }

  refuse(key: string, refusal: ReportRefusal, nowMs: number, untilMs: number): void {
    this.#accepted.delete(key);
    put(this.#refused, key, { value: refusal, untilMs }, nowMs, this.#options.refusedMax);
  }

  /** How many are kept. */
  get size(): number {
    return this.#accepted.size + this.#refused.size;
  }
}

function current<T>(entries: Map<string, Entry<T>>, key: string, nowMs: number): T | undefined {
  const entry = entries.get(key);
  if (entry && entry.untilMs > nowMs) return entry.value;
  entries.delete(key);
  return undefined;
}

/** Those that came first are over first, give or take some minutes: a token that is replaced is not asked about again. */
function put<T>(entries: Map<string, Entry<T>>, key: string, entry: Entry<T>, nowMs: number, max: number): void {
  entries.delete(key);
  entries.set(key, entry);
  for (const [oldest, { untilMs }] of entries) {
    if (untilMs > nowMs && entries.size <= max) break;
    entries.delete(oldest);
  }
}
