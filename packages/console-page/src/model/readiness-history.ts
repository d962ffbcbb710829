import { type Counts, troubles } from './node-state.ts';

const KEPT_MS = 3_600_000;
const EVERY_MS = 5000;

/** Counts at a moment; `null` while they are unknown, since the connection was lost. */
export type Sample = { atMs: number; counts: Counts | null };

/** How many nodes were in which state over the last hour, as far as this page was open. */
export class ReadinessHistory {
  #samples: Sample[] = [];

  /** The oldest first; each holds until the next. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Records a state. Call it after every change, and from time to time. Within five seconds the worst is kept. */
  add(atMs: number, counts: Counts | null): void {
    const last = this.#samples.at(-1);
    if (last?.counts && counts && atMs - last.atMs < EVERY_MS) last.counts = worse(last.counts, counts);
    else if (last?.counts || counts) this.#samples.push({ atMs, counts: counts && { ...counts } });
    const oldest = this.#samples.findIndex((sample) => sample.atMs >= atMs - KEPT_MS);
    // The one before says how the hour began.
    if (oldest > 1) this.#samples = this.#samples.slice(oldest - 1);
  }
}

function worse(a: Counts, b: Counts): Counts {
  return troubles(a) > troubles(b) ? a : { ...b };
}
