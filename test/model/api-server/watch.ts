import type { Clock } from '@rollcall/common/clock.ts';

/** What a watch tells, in order and late: what is sent later never arrives earlier. */
export class LaggingLine {
  readonly #clock: Clock;
  readonly #lagMs: () => number;
  #lastMs = 0;

  constructor(clock: Clock, lagMs: () => number) {
    this.#clock = clock;
    this.#lagMs = lagMs;
  }

  send(deliver: () => void): void {
    const nowMs = this.#clock.monotonic();
    this.#lastMs = Math.max(this.#lastMs, nowMs + this.#lagMs());
    this.#clock.after(this.#lastMs - nowMs, deliver);
  }
}
