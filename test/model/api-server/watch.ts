import type { Clock } from '@rollcall/common/clock.ts';

/** What a watch tells, in order and late: what is sent later never arrives earlier. */
export class LaggingLine {
  readonly #clock: Clock;
  readonly #lagMs: () => number;
  #lastMs = 0;
  readonly #sent: (() => void)[] = [];

  constructor(clock: Clock, lagMs: () => number) {
    this.#clock = clock;
    this.#lagMs = lagMs;
  }

  send(deliver: () => void): void {
    const nowMs = this.#clock.monotonic();
    this.#lastMs = Math.max(this.#lastMs, nowMs + this.#lagMs());
    this.#sent.push(deliver);
    // A machine that was suspended has timers that are due at once, in no order.
    this.#clock.after(this.#lastMs - nowMs, () => this.#sent.shift()?.());
  }
}
