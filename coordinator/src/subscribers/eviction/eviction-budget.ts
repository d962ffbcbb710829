export type BudgetOptions = {
  perSecond: number;
  /** Evictions that may come at once after a pause. */
  burst: number;
};

/**
 * How many pods may be evicted in the whole fleet: a token bucket, kept as one number (the generic cell rate
 * algorithm), the time at which it is full again. Times are monotonic.
 */
export class EvictionBudget {
  readonly #intervalMs: number;
  readonly #depthMs: number;
  #fullAtMs = 0;

  constructor({ perSecond, burst }: BudgetOptions) {
    this.#intervalMs = 1000 / perSecond;
    this.#depthMs = burst * this.#intervalMs;
  }

  /** Whole milliseconds until there is one to take; 0 when there is. */
  waitMs(nowMs: number): number {
    const missingMs = Math.max(this.#fullAtMs, nowMs) + this.#intervalMs - this.#depthMs - nowMs;
    // Sums of fractions of a millisecond are not exact.
    return missingMs > 1e-6 ? Math.ceil(missingMs) : 0;
  }

  /** Whether there was one to take, which is then taken. */
  take(nowMs: number): boolean {
    if (this.waitMs(nowMs) > 0) return false;
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + this.#intervalMs;
    return true;
  }

  /** What was taken last came to nothing. */
  giveBack(): void {
    this.#fullAtMs -= this.#intervalMs;
  }
}
