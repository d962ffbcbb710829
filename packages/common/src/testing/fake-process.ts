import type { Clock } from '../clock.ts';
import type { FakeClock } from './fake-clock.ts';

export type FakeProcessOptions = {
  world: FakeClock;
  /** A number in [0, 1). */
  random: () => number;
  /** How fast its monotonic clock runs; defaults to 1. */
  rate?: number;
  /** Called whenever the process has done something. */
  afterStep?: () => void;
};

/**
 * For tests: one process of several on one clock. It can be stopped and killed, its machine can be suspended, and its
 * wall clock can be wrong.
 */
export class FakeProcess {
  readonly clock: Clock;
  readonly #world: FakeClock;
  readonly #random: () => number;
  readonly #afterStep: () => void;
  #wallOffsetMs = 0;
  #paused = false;
  /** When the suspension of its machine began, on the clock of the world. */
  #suspendedAtMs: number | undefined;
  /** Total length of the suspensions that have ended. */
  #suspendedMs = 0;
  #dead = false;
  #held: (() => void)[] = [];

  constructor({ world, random, rate = 1, afterStep = () => {} }: FakeProcessOptions) {
    this.#world = world;
    this.#random = random;
    this.#afterStep = afterStep;
    this.clock = {
      now: () => Math.round(world.now() + this.#wallOffsetMs),
      monotonic: () => ((this.#suspendedAtMs ?? world.monotonic()) - this.#suspendedMs) * rate,
      after: (delayMs, callback) => (this.#dead ? () => {} : this.#after(delayMs / rate, callback)),
    };
  }

  /** Waits on the clock of the world, and longer by every suspension meanwhile. */
  #after(delayMs: number, callback: () => void): () => void {
    let dueMs = this.#world.monotonic() + delayMs;
    let suspendedMs = this.#suspendedMs;
    let cancelled = false;
    let cancel = () => {};
    const fire = () => {
      if (cancelled) return;
      const missedMs = this.#suspendedMs - suspendedMs;
      if (missedMs === 0) return callback();
      dueMs += missedMs;
      suspendedMs = this.#suspendedMs;
      wait(dueMs - this.#world.monotonic());
    };
    // A shorter wait may vanish in the rounding, and time would stand still.
    const wait = (forMs: number) => {
      cancel = this.#world.after(forMs > 0 ? Math.max(forMs, 0.001) : forMs, () => this.step(fire));
    };
    wait(delayMs);
    return () => {
      cancelled = true;
      cancel();
    };
  }

  get isDead(): boolean {
    return this.#dead;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  get isSuspended(): boolean {
    return this.#suspendedAtMs !== undefined;
  }

  /** By how much its wall clock is off, in milliseconds. */
  get wallOffsetMs(): number {
    return this.#wallOffsetMs;
  }

  jumpWallClock(deltaMs: number): void {
    this.#wallOffsetMs += deltaMs;
  }

  /** SIGKILL. What it has sent is sent. */
  kill(): void {
    this.#dead = true;
  }

  /** SIGSTOP: timers and answers wait, and the clocks go on. */
  pause(): void {
    this.#paused = true;
  }

  /** Suspends the machine: as `pause`, but the monotonic clock, and with it every timer, stands still. */
  suspend(): void {
    this.pause();
    this.#suspendedAtMs ??= this.#world.monotonic();
  }

  /** SIGCONT, or the end of a suspension. What waited comes in any order. */
  resume(): void {
    this.#paused = false;
    if (this.#suspendedAtMs !== undefined) this.#suspendedMs += this.#world.monotonic() - this.#suspendedAtMs;
    this.#suspendedAtMs = undefined;
    const held = this.#held.map((run) => ({ run, rank: this.#random() })).sort((a, b) => a.rank - b.rank);
    this.#held = [];
    for (const { run } of held) this.#world.after(0, () => this.step(run));
  }

  /** Runs something of the process: now, when it is resumed, or never. */
  step(run: () => void): void {
    if (this.#dead) return;
    if (this.#paused) {
      this.#held.push(run);
      return;
    }
    run();
    this.#afterStep();
  }
}
