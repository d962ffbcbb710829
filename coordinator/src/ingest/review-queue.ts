/** Thrown when no more reviews can wait. */
export class QueueFullError extends Error {
  constructor() {
    super('Too many reviews are waiting');
    this.name = 'QueueFullError';
  }
}

type Waiting = { start: () => void };

/**
 * Bounds how many tasks run at once and how many wait. Those of known clients go first and have places of their own:
 * a flood of tokens that somebody made up does not keep out agents that were let in a minute ago.
 */
export class ReviewQueue {
  #running = 0;
  readonly #known: Waiting[] = [];
  readonly #unknown: Waiting[] = [];
  readonly #options: { runningMax: number; waitingMax: number };

  /** `waitingMax` is of each kind. */
  constructor(options: { runningMax: number; waitingMax: number }) {
    this.#options = options;
  }

  /** Runs `task` when its turn comes. Throws QueueFullError at once when there is no place left. */
  async run<T>(known: boolean, task: () => Promise<T>): Promise<T> {
    await this.#turn(known);
    try {
      return await task();
    } finally {
      this.#running -= 1;
      (this.#known.shift() ?? this.#unknown.shift())?.start();
    }
  }

  get waiting(): number {
    return this.#known.length + this.#unknown.length;
  }

  #turn(known: boolean): Promise<void> {
    if (this.#running < this.#options.runningMax) {
      this.#running += 1;
      return Promise.resolve();
    }
    const line = known ? this.#known : this.#unknown;
    if (line.length >= this.#options.waitingMax) throw new QueueFullError();
    return new Promise((resolve) => {
      line.push({
        start: () => {
          // Taken before the waiting task resumes, so that no newcomer slips into its place.
          this.#running += 1;
          resolve();
        },
      });
    });
  }
}
