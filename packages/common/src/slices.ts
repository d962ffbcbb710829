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
  #beganMs = performance.now();

  /** Between two pieces, each of which has to be short. */
  async pause(): Promise<void> {
    if (performance.now() - this.#beganMs < SLICE_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#beganMs = performance.now();
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
