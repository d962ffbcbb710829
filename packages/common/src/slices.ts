import type { Clock } from './clock.ts';

/** How long the loop is held at a time; what else the program does goes in between. */
const SLICE_MS = 6;

/** Runs a generator to its end, and holds the loop for as long. */
export function atOnce<T>(work: Iterator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Goes through long work a piece at a time, so that nothing else has to wait for it. */
export class Slices {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #beganMs: number;
  /** All that pause go on in one slice. */
  #pause: Promise<void> | undefined;

  constructor(clock: Pick<Clock, 'monotonic'> = { monotonic: () => performance.now() }) {
    this.#clock = clock;
    this.#beganMs = clock.monotonic();
  }

  /** Whether what is left has to wait for a pause. */
  get isOver(): boolean {
    return this.#clock.monotonic() - this.#beganMs >= SLICE_MS;
  }

  /** Between two pieces, each of which has to be short. */
  async pause(): Promise<void> {
    if (!this.isOver) return;
    this.#pause ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#beganMs = this.#clock.monotonic();
        this.#pause = undefined;
        resolve();
      });
    });
    await this.#pause;
  }

  /** Runs a generator to its end, with pauses where it yields. */
  async run<T>(work: Iterator<unknown, T>): Promise<T> {
    for (;;) {
      const step = work.next();
      if (step.done) return step.value;
      await this.pause();
    }
  }
}
