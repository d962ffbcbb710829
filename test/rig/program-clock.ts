import { type Clock, systemClock } from '@rollcall/common/clock.ts';

const PRELOAD = new URL('faster-clock.ts', import.meta.url);

/**
 * The clock of the programs of a rig, which may be faster than the machine's, so that a test need not wait in real time
 * for a lease or a back-off. Parts of a program that run inside a test take it as their `Clock`.
 */
export class ProgramClock implements Clock {
  /** How many seconds pass for the programs in a real one. */
  readonly speed: number;
  readonly #sinceMs = Date.now();

  constructor(speed = 1) {
    this.speed = speed;
  }

  /** Flags of Node.js that give a program this clock. */
  get nodeArgs(): string[] {
    if (this.speed === 1) return [];
    const url = new URL(PRELOAD);
    url.search = new URLSearchParams({ speed: String(this.speed), since: String(this.#sinceMs) }).toString();
    return [`--import=${url}`];
  }

  now(): number {
    return this.#sinceMs + (Date.now() - this.#sinceMs) * this.speed;
  }

  monotonic(): number {
    return performance.now() * this.speed;
  }

  after(delayMs: number, callback: () => void): () => void {
    return systemClock.after(this.realMs(delayMs), callback);
  }

  /** How long the machine waits while `programMs` pass for the programs, in milliseconds. */
  realMs(programMs: number): number {
    return programMs / this.speed;
  }

  /** How much time passes for the programs within `realMs` of the machine, in milliseconds. */
  programMs(realMs: number): number {
    return realMs * this.speed;
  }
}
