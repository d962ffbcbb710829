import type { Clock } from '@rollcall/common/clock.ts';

/** Less than this is left by rounding alone: the clock of the world would not move for it, and it would be due for ever. */
const ROUNDING_MS = 1e-6;

/** The clocks of a machine: while it is suspended, the monotonic one stands still, and nothing is called back. */
export class MachineClock implements Clock {
  readonly #world: Clock;
  /** How long the machine was suspended, over all times. */
  suspendedMs = 0;
  #sinceMs: number | undefined;
  #late: (() => void)[] = [];

  constructor(world: Clock) {
    this.#world = world;
  }

  get isSuspended(): boolean {
    return this.#sinceMs !== undefined;
  }

  suspend(): void {
    this.#sinceMs ??= this.#world.monotonic();
  }

  resume(): void {
    if (this.#sinceMs === undefined) return;
    this.suspendedMs += this.#world.monotonic() - this.#sinceMs;
    this.#sinceMs = undefined;
    for (const callback of this.#late.splice(0)) callback();
  }

  /** Resolves while the machine runs. */
  async awake(): Promise<void> {
    if (this.isSuspended) await new Promise<void>((resolve) => this.#late.push(resolve));
  }

  now(): number {
    return this.#world.now();
  }

  monotonic(): number {
    return (this.#sinceMs ?? this.#world.monotonic()) - this.suspendedMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const dueMs = this.monotonic() + Math.max(0, delayMs);
    let isCancelled = false;
    let cancel = () => {};
    const look = () => {
      if (isCancelled) return;
      const leftMs = dueMs - this.monotonic();
      if (this.isSuspended) this.#late.push(look);
      else if (leftMs > ROUNDING_MS) cancel = this.#world.after(leftMs, look);
      else callback();
    };
    cancel = this.#world.after(delayMs, look);
    return () => {
      isCancelled = true;
      cancel();
    };
  }
}
