import type { Clock } from '@rollcall/common/clock.ts';

/** Share of its delay by which a callback may come early, so that it shares a wake-up with others. */
const EARLY_SHARE = 0.1;

type Waiting = { dueMs: number; earliestMs: number; callback: () => void };

/**
 * One timer for the rounds of all checks of a node. When one of them falls due, those that are nearly due begin with it,
 * and stay together from then on: each wake-up of an idle process costs more than a round.
 */
export class SharedTimer {
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting>();
  #armedMs = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `callback` once, after `delayMs` or up to a tenth of it earlier. Returns what cancels it. */
  after(delayMs: number, callback: () => void): () => void {
    const dueMs = this.#clock.monotonic() + delayMs;
    const waiting = { dueMs, earliestMs: dueMs - delayMs * EARLY_SHARE, callback };
    this.#waiting.add(waiting);
    this.#arm(dueMs);
    return () => {
      this.#waiting.delete(waiting);
      if (this.#waiting.size === 0) this.#disarm();
    };
  }

  /** Keeps what is armed for an earlier time. */
  #arm(dueMs: number): void {
    if (dueMs >= this.#armedMs) return;
    this.#cancelTimer();
    this.#armedMs = dueMs;
    this.#cancelTimer = this.#clock.after(Math.max(0, dueMs - this.#clock.monotonic()), () => this.#call());
  }

  #disarm(): void {
    this.#cancelTimer();
    this.#armedMs = Number.POSITIVE_INFINITY;
  }

  #call(): void {
    // A timer may come a fraction of a millisecond early.
    const nowMs = Math.max(this.#clock.monotonic(), this.#armedMs);
    this.#disarm();
    const due: Waiting[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      if (waiting.earliestMs <= nowMs) due.push(waiting);
      else nextMs = Math.min(nextMs, waiting.dueMs);
    }
    this.#arm(nextMs);
    // One of them may cancel another.
    for (const waiting of due) if (this.#waiting.delete(waiting)) waiting.callback();
  }
}
