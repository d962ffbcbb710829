export type Rate = {
  /** How many may come at once after a pause. */
  burst: number;
  /** After the burst, one more in so long. */
  intervalMs: number;
};

/** Sums of fractions of a millisecond are not exact. */
const ROUNDING_MS = 1e-6;

/**
 * A token bucket, kept as one number (the generic cell rate algorithm): the time at which it is full again. Times are
 * monotonic, in milliseconds.
 */
export class TokenBucket {
  readonly #rate: Rate;
  #fullAtMs = Number.NEGATIVE_INFINITY;

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Whole milliseconds until there is a token; 0 when there is one. */
  waitMs(nowMs: number): number {
    return Math.ceil(missingMs(this.#rate, this.#fullAtMs, nowMs, 1));
  }

  /** Takes a token. Returns false when there is none. */
  take(nowMs: number): boolean {
    if (missingMs(this.#rate, this.#fullAtMs, nowMs, 1) > 0) return false;
    this.charge(nowMs, 1);
    return true;
  }

  /** Takes so many tokens, or parts of them, also where there are none: those who come next wait for longer. */
  charge(nowMs: number, count: number): void {
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + count * this.#rate.intervalMs;
  }

  /** Returns a token that was not used. */
  giveBack(): void {
    this.#fullAtMs -= this.#rate.intervalMs;
  }
}

/** A token bucket for each key. A full bucket is forgotten, and the one that was used longest ago beyond `keysMax`. */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #keysMax: number;
  /** The first was used longest ago. */
  readonly #fullAtMs = new Map<string, number>();

  constructor({ keysMax, ...rate }: Rate & { keysMax: number }) {
    this.#rate = rate;
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#fullAtMs.size;
  }

  /** Takes so many tokens of the key. Returns the milliseconds to wait when there are not enough, and takes none; else 0. */
  take(key: string, nowMs: number, count = 1): number {
    const before = this.#fullAtMs.get(key) ?? Number.NEGATIVE_INFINITY;
    const waitMs = missingMs(this.#rate, before, nowMs, count);
    const fullAtMs = waitMs > 0 ? before : Math.max(before, nowMs) + count * this.#rate.intervalMs;
    this.#fullAtMs.delete(key);
    this.#fullAtMs.set(key, fullAtMs);
    for (const [oldest, oldestFullAtMs] of this.#fullAtMs) {
      if (oldestFullAtMs > nowMs && this.#fullAtMs.size <= this.#keysMax) break;
      this.#fullAtMs.delete(oldest);
    }
    return waitMs;
  }
}

/** Milliseconds until there are so many tokens; 0 when there are. */
function missingMs({ burst, intervalMs }: Rate, fullAtMs: number, nowMs: number, count: number): number {
  const missing = Math.max(fullAtMs, nowMs) + (count - burst) * intervalMs - nowMs;
  return missing > ROUNDING_MS ? missing : 0;
}
