import type { Clock } from './clock.ts';
import type { FakeClock } from './fake-clock.ts';

export type FakeProcessOptions = {
  world: FakeClock;
  /** A number in [0, 1). */
  random: () => number;
  /** How fast its monotonic clock runs; 1 unless told. */
  rate?: number;
  /** Called whenever the process has done something. */
  afterStep?: () => void;
};

/** For tests: one process of several on one clock. It can be stopped and killed, and its wall clock can be wrong. */
export class FakeProcess {
  readonly clock: Clock;
  readonly #world: FakeClock;
  readonly #random: () => number;
  readonly #afterStep: () => void;
  #wallOffsetMs = 0;
  #paused = false;
  #dead = false;
  #held: (() => void)[] = [];

  constructor({ world, random, rate = 1, afterStep = () => {} }: FakeProcessOptions) {
    this.#world = world;
    this.#random = random;
    this.#afterStep = afterStep;
    this.clock = {
      now: () => Math.round(world.now() + this.#wallOffsetMs),
      monotonic: () => world.monotonic() * rate,
      after: (delayMs, callback) => {
        if (this.#dead) return () => {};
        let cancelled = false;
        const cancel = world.after(delayMs / rate, () => this.step(() => cancelled || callback()));
        return () => {
          cancelled = true;
          cancel();
        };
      },
    };
  }

  get isDead(): boolean {
    return this.#dead;
  }

  get isPaused(): boolean {
    return this.#paused;
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

  /** SIGCONT. What waited comes in any order. */
  resume(): void {
    this.#paused = false;
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
