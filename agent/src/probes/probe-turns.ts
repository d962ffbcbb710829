import type { Clock } from '@rollcall/common/clock.ts';
import { TokenBucket } from '@rollcall/common/token-bucket.ts';

/** Probes of all services beside the rounds, which the coordinator bounds. */
const RATE = { burst: 16, intervalMs: 20 };

/**
 * Spreads probes that are not rounds: the first ones of a list of checks, and those after lost connections. Each may take a
 * handshake of TLS, and 200 at once would hold the process for a second.
 */
export class ProbeTurns {
  readonly #clock: Clock;
  readonly #bucket = new TokenBucket(RATE);
  /** By check, in order. A check that is asked for again keeps its place. */
  readonly #urgent = new Map<string, () => void>();
  readonly #others = new Map<string, () => void>();
  #cancelNext: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `begin` when it is the turn of the check, which may be at once. The last `begin` of a check counts. */
  take(check: string, begin: () => void, isUrgent: boolean): void {
    (isUrgent ? this.#urgent : this.#others).set(check, begin);
    if (!this.#cancelNext) this.#callNext();
  }

  /** The check waits no longer. */
  leave(check: string): void {
    this.#urgent.delete(check);
    this.#others.delete(check);
    if (this.#urgent.size + this.#others.size > 0) return;
    this.#cancelNext?.();
    this.#cancelNext = undefined;
  }

  #callNext(): void {
    for (const waiting of [this.#urgent, this.#others]) {
      for (const [check, begin] of waiting) {
        const nowMs = this.#clock.monotonic();
        if (!this.#bucket.take(nowMs)) {
          this.#cancelNext = this.#clock.after(this.#bucket.waitMs(nowMs), () => {
            this.#cancelNext = undefined;
            this.#callNext();
          });
          return;
        }
        waiting.delete(check);
        begin();
      }
    }
  }
}
