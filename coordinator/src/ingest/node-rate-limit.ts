/** Of whatever is counted, such as requests or bytes. */
export type RateLimitOptions = {
  /** How many may come at once after a pause. */
  burst: number;
  perSecond: number;
};

/** Below this many nodes nothing is swept. */
const SWEEP_AT_LEAST = 1024;

/**
 * A token bucket for each node, kept as one number (the generic cell rate algorithm): the time at which the bucket is
 * full again. A bucket that is full is as good as none, so that the map stays as small as the number of busy nodes.
 */
export class NodeRateLimit {
  readonly #fullAtMs = new Map<string, number>();
  readonly #intervalMs: number;
  readonly #depthMs: number;
  #sweepAtSize = SWEEP_AT_LEAST;

  constructor({ burst, perSecond }: RateLimitOptions) {
    this.#intervalMs = 1000 / perSecond;
    this.#depthMs = burst * this.#intervalMs;
  }

  /** Takes so many out of the bucket of `node`. Returns the milliseconds to wait when there are not enough, else 0. */
  take(node: string, nowMs: number, count = 1): number {
    const fullAtMs = Math.max(this.#fullAtMs.get(node) ?? 0, nowMs) + count * this.#intervalMs;
    const missingMs = fullAtMs - nowMs - this.#depthMs;
    // Sums of fractions of a millisecond are not exact.
    if (missingMs > 1e-6) return missingMs;
    this.#fullAtMs.set(node, fullAtMs);
    if (this.#fullAtMs.size > this.#sweepAtSize) this.#sweep(nowMs);
    return 0;
  }

  get size(): number {
    return this.#fullAtMs.size;
  }

  #sweep(nowMs: number): void {
    for (const [node, fullAtMs] of this.#fullAtMs) if (fullAtMs <= nowMs) this.#fullAtMs.delete(node);
    this.#sweepAtSize = Math.max(SWEEP_AT_LEAST, 2 * this.#fullAtMs.size);
  }
}
