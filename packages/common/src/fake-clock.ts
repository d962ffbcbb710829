import type { Clock } from './clock.ts';

type Timer = { dueMs: number; order: number; callback: () => void };

const TIMER_MS_MAX = 2 ** 31 - 1;

/** A clock for tests that stands still until it is moved. */
export class FakeClock implements Clock {
  #elapsedMs = 0;
  #epochMs: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(epochMs = Date.UTC(2026, 0, 1)) {
    this.#epochMs = epochMs;
  }

  now(): number {
    return this.#epochMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Throws for what Node's timers cannot wait: they would call back at once. */
  after(delayMs: number, callback: () => void): () => void {
    if (delayMs > TIMER_MS_MAX) throw new RangeError(`No timer can be set for ${delayMs} ms`);
    const timer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves the wall clock alone, as NTP or a person does. */
  jumpWallClock(deltaMs: number): void {
    this.#epochMs += deltaMs;
  }

  /**
   * Lets time pass for a process that is stopped (SIGSTOP, a machine that sleeps): nothing is called. What fell due is
   * called once with the next `advance`, late.
   */
  standStill(deltaMs: number): void {
    this.#elapsedMs += deltaMs;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves time, calling what falls due in order and letting promises settle after each call. */
  async advance(deltaMs: number): Promise<void> {
    const endMs = this.#elapsedMs + deltaMs;
    await settle();
    for (let next = this.#earliest(endMs); next !== undefined; next = this.#earliest(endMs)) {
      this.#timers.delete(next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#elapsedMs = endMs;
  }

  #earliest(endMs: number): Timer | undefined {
    let found: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue;
      if (!found || timer.dueMs < found.dueMs || (timer.dueMs === found.dueMs && timer.order < found.order)) {
        found = timer;
      }
    }
    return found;
  }
}

/** Lets pending promise callbacks run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
