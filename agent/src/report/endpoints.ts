import { originOf } from './coordinator-url.ts';

/** Where the next report goes: to the leader that was found, else through the configured list in order. */
export class Endpoints {
  readonly #origins: readonly string[];
  #index = 0;
  #leader: string | undefined;
  /** Entries of the list that have failed since one was reached. */
  #failures = 0;

  /** `urls` must not be empty. */
  constructor(urls: readonly string[]) {
    this.#origins = urls.map(originOf);
  }

  get current(): string {
    return this.#leader ?? this.#configured;
  }

  /** A report was taken at `origin`, which stays the first choice until it fails. */
  accepted(origin: string): void {
    this.#leader = origin === this.#configured ? undefined : origin;
    this.#failures = 0;
  }

  /**
   * A leader that failed is forgotten in favor of whoever named it; after that, the list goes on. Returns whether the
   * whole list has been gone through in vain, so that there is nobody left to try at once.
   */
  failed(): boolean {
    if (this.#leader !== undefined) {
      this.#leader = undefined;
      return false;
    }
    this.#index = (this.#index + 1) % this.#origins.length;
    this.#failures = (this.#failures + 1) % this.#origins.length;
    return this.#failures === 0;
  }

  get #configured(): string {
    return this.#origins[this.#index] ?? '';
  }
}
