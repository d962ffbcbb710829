import type { Clock } from '@rollcall/common/clock.ts';

/** One plug is several events: those of a hub and of what is on it come together. */
const GATHER_MS = 20;
/** The attributes of a new device may come later than the event. */
const SETTLE_MS = 250;

/**
 * Makes few scans of many hints: one 20 ms after the first hint, and another 250 ms later. What is hinted at in
 * between is seen by that one, and gets one more after it; so a storm costs four scans a second.
 */
export class HintPacing {
  readonly #clock: Clock;
  readonly #scanSoon: () => void;
  #state: 'idle' | 'gathering' | 'settling' | 'settling-again' = 'idle';
  #cancelTimer = () => {};

  constructor(clock: Clock, scanSoon: () => void) {
    this.#clock = clock;
    this.#scanSoon = scanSoon;
  }

  hint(): void {
    if (this.#state === 'settling') this.#state = 'settling-again';
    if (this.#state !== 'idle') return;
    this.#state = 'gathering';
    this.#cancelTimer = this.#clock.after(GATHER_MS, () => this.#scan());
  }

  cancel(): void {
    this.#cancelTimer();
    this.#state = 'idle';
  }

  #scan(): void {
    const settled = this.#state === 'settling';
    this.#state = settled ? 'idle' : 'settling';
    if (!settled) this.#cancelTimer = this.#clock.after(SETTLE_MS, () => this.#scan());
    this.#scanSoon();
  }
}
