import type { Clock } from '../clock.ts';

type Timer = { dueMs: number; order: number; callback: () => void; isCancelled: boolean };

const TIMER_MS_MAX = 2 ** 31 - 1;

/** A clock for tests that stands still until it is moved. */
export class FakeClock implements Clock {
  #elapsedMs = 0;
  #epochMs: number;
  #order = 0;
  /** A binary heap, the earliest first; those that were cancelled stay until they come up, or are too many. */
  #timers: Timer[] = [];
  #cancelled = 0;

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
    if (!(delayMs <= TIMER_MS_MAX)) throw new RangeError(`No timer can be set for ${delayMs} ms`);
    const dueMs = this.#elapsedMs + Math.max(0, delayMs);
    const timer = { dueMs, order: this.#order++, callback, isCancelled: false };
    this.#timers.push(timer);
    this.#up(this.#timers.length - 1);
    return () => this.#cancel(timer);
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
    return this.#timers.length - this.#cancelled;
  }

  /** Moves time, calling what falls due in order and letting promises settle after each call. */
  async advance(deltaMs: number): Promise<void> {
    const endMs = this.#elapsedMs + deltaMs;
    await turn();
    for (let next = this.#takeDue(endMs); next !== undefined; next = this.#takeDue(endMs)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, endMs);
  }

  #cancel(timer: Timer): void {
    if (timer.isCancelled) return;
    timer.isCancelled = true;
    // It holds what it would have been about.
    timer.callback = () => {};
    this.#cancelled += 1;
    if (this.#cancelled <= 64 || this.#cancelled * 2 < this.#timers.length) return;
    this.#timers = this.#timers.filter(({ isCancelled }) => !isCancelled).sort((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#cancelled = 0;
  }

  #takeDue(endMs: number): Timer | undefined {
    for (let first = this.#timers[0]; first && first.dueMs <= endMs; first = this.#timers[0]) {
      this.#takeFirst();
      if (!first.isCancelled) {
        // From now on it cannot be cancelled.
        first.isCancelled = true;
        return first;
      }
      this.#cancelled -= 1;
    }
    return undefined;
  }

  #takeFirst(): void {
    const last = this.#timers.pop();
    if (last === undefined || this.#timers.length === 0) return;
    this.#timers[0] = last;
    this.#down(0);
  }

  #up(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  #down(from: number): void {
    for (let at = from; ; ) {
      const [left, right] = [this.#timers[2 * at + 1], this.#timers[2 * at + 2]];
      if (!left) return;
      const child = right && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
      if (!this.#swapIfBefore(child, at)) return;
      at = child;
    }
  }

  #swapIfBefore(child: number, parent: number): boolean {
    const [lower, upper] = [this.#timers[child], this.#timers[parent]];
    if (!lower || !upper || !isBefore(lower, upper)) return false;
    this.#timers[child] = upper;
    this.#timers[parent] = lower;
    return true;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** Lets the loop turn, and with it pending promise callbacks run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets pending promise callbacks run without a turn of the loop, which takes longer than most of them. */
function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
}
