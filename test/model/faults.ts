import type { Clock } from '@rollcall/common/clock.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { Fate } from './api-server/client.ts';
import { valueOn } from './sights.ts';

/** What is wrong with the API server, by the clock of the model. */
export class Faults {
  readonly #clock: Clock;
  readonly #random: () => number;
  #outage: { untilMs: number; fate: () => Fate } = { untilMs: 0, fate: () => 'answered' };
  /** Until when nothing can be expected to be as it should be. */
  troubledUntilMs = 0;
  /** The share of requests that get no answer. */
  sporadic = 0;
  /** Of the keys that admission refuses (`label:KEY`, `taint:KEY`), until when. */
  readonly denied = new Map<string, number>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** For a while the API server answers like this; `graceMs` later all is to be well. */
  break(forMs: number, graceMs: number, fate: () => Fate): void {
    const untilMs = this.#clock.monotonic() + forMs;
    this.#outage = { untilMs, fate };
    this.troubledUntilMs = Math.max(this.troubledUntilMs, untilMs + graceMs);
  }

  heal(): void {
    this.#outage = { untilMs: 0, fate: () => 'answered' };
    this.sporadic = 0;
    this.denied.clear();
  }

  /** What becomes of the next request. */
  fate(): Fate {
    if (this.#clock.monotonic() < this.#outage.untilMs) return this.#outage.fate();
    if (this.#random() >= this.sporadic) return 'answered';
    return this.#random() < 0.5 ? 'lost' : 'unanswered';
  }

  /** Why admission refuses a change. */
  refusal(before: Node, after: Node): string | undefined {
    for (const [id, untilMs] of this.denied) {
      if (this.#clock.monotonic() < untilMs && valueOn(before, id) !== valueOn(after, id)) return `no ${id}`;
    }
    return undefined;
  }
}
