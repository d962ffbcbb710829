import type { Clock } from '@rollcall/common/clock.ts';

/** How long the loop is held at a time. */
const SLICE_MS = 5;

/**
 * Hands on the names of nodes that may be other than they were, a few at a time and each but once, to those who can wait
 * for a few milliseconds: what many nodes become at once must not hold up what is decided.
 */
export class ChangedNodes {
  readonly #names = new Set<string>();
  readonly #clock: Clock;
  readonly #onChanged: (node: string) => void;
  #isDue = false;

  constructor(clock: Clock, onChanged: (node: string) => void) {
    this.#clock = clock;
    this.#onChanged = onChanged;
  }

  add(node: string): void {
    this.#names.add(node);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#clock.after(0, () => {
      this.#isDue = false;
      this.#work();
    });
  }

  #work(): void {
    const untilMs = this.#clock.monotonic() + SLICE_MS;
    for (const name of this.#names) {
      this.#names.delete(name);
      this.#onChanged(name);
      if (this.#clock.monotonic() >= untilMs) break;
    }
    if (this.#names.size > 0) this.#schedule();
  }
}
