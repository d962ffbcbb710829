import type { Clock } from '@rollcall/common/clock.ts';

/** When the API server last answered a request of any client here successfully. */
export class ApiContact {
  readonly #clock: Clock;
  #lastMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `code` is a status, or `error` when there was no answer. */
  answered(code: string): void {
    if (code.startsWith('2')) this.#lastMs = this.#clock.monotonic();
  }

  /** Milliseconds since then. */
  silentMs(): number {
    return this.#lastMs === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() - this.#lastMs;
  }
}
