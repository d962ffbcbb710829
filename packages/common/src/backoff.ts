export type BackoffOptions = {
  baseMs: number;
  maxMs: number;
  /** A number in [0, 1). */
  random: () => number;
};

/**
 * Exponential backoff with jitter: the n-th delay lies between half of `baseMs * 2^n` and the whole of it, at most
 * `maxMs`. Half is kept so that a retry never comes at once; the rest spreads clients that failed together.
 */
export class Backoff {
  #attempts = 0;
  readonly #options: BackoffOptions;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The next delay in milliseconds. */
  next(): number {
    const { baseMs, maxMs, random } = this.#options;
    // 2^30 is beyond any maxMs in use; without the cap the power would become Infinity.
    const wholeMs = Math.min(maxMs, baseMs * 2 ** Math.min(this.#attempts, 30));
    this.#attempts += 1;
    return wholeMs / 2 + (wholeMs / 2) * random();
  }

  reset(): void {
    this.#attempts = 0;
  }

  get attempts(): number {
    return this.#attempts;
  }
}
