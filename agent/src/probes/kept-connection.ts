import { Sentinel } from './sentinel.ts';
import type { ProbeAddress, ProbeResult } from './types.ts';

/** A new connection is opened every so many rounds, to notice a process that took the place of the one that answers. */
export const FRESH_EVERY_ROUNDS = 10;

/** The connection over which a line asks again, and an idle one for the time in which there is none. */
export class KeptConnection<Kept> {
  readonly #close: (kept: Kept) => void;
  readonly #onLost: () => void;
  readonly #idle: Sentinel;
  #kept: Kept | undefined;
  #asking = false;

  /** `onLost` is called once for each connection that the other side closed while no question was under way. */
  constructor(close: (kept: Kept) => void, onLost: () => void) {
    this.#close = close;
    this.#onLost = onLost;
    this.#idle = new Sentinel(onLost);
  }

  get current(): Kept | undefined {
    return this.#kept;
  }

  /** Runs a probe that asks over it, or over a new one if `fresh`. */
  async ask(fresh: boolean, probe: () => Promise<ProbeResult>): Promise<ProbeResult> {
    if (fresh) this.drop();
    this.#asking = true;
    try {
      return await probe();
    } finally {
      this.#asking = false;
    }
  }

  keep(kept: Kept): void {
    this.#kept = kept;
  }

  /** The other side closed it. */
  lost(kept: Kept): void {
    if (this.#kept !== kept) return;
    this.#kept = undefined;
    // Who is asking finds out by itself.
    if (!this.#asking) this.#onLost();
  }

  /** Holds an idle one to `target` where none is kept; nothing where it is not known yet. */
  hold(target: ProbeAddress | undefined): void {
    if (this.#kept) this.#idle.release();
    else if (target) this.#idle.hold(target);
  }

  /** Closes the one that is kept, without calling back. */
  drop(): void {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept) this.#close(kept);
  }

  /** Closes both. */
  release(): void {
    this.drop();
    this.#idle.release();
  }
}
