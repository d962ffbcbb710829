import type { Clock } from '@rollcall/common/clock.ts';

/** Allows `capacity` things at once, and one more every `refillMs` after that. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #refillMs: number;
  #tokens: number;
  #countedAtMs: number;

  constructor(options: { clock: Clock; capacity: number; refillMs: number }) {
    this.#clock = options.clock;
    this.#capacity = options.capacity;
    this.#refillMs = options.refillMs;
    this.#tokens = options.capacity;
    this.#countedAtMs = options.clock.monotonic();
  }

  /** Takes a token; false when there is none. */
  take(): boolean {
    const nowMs = this.#clock.monotonic();
    const earned = (nowMs - this.#countedAtMs) / this.#refillMs;
    this.#tokens = Math.min(this.#capacity, this.#tokens + earned);
    this.#countedAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
