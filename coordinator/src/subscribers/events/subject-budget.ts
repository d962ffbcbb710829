/** What client-go allows for one object: so many Events at once, and one more every so often. */
const BURST = 25;
const REFILL_MS = 300_000;
/** Most objects that are remembered. One that is forgotten has its whole budget again. */
const SUBJECTS_MAX = 8192;

/**
 * A token bucket for each object, so that one that flaps cannot fill etcd. Kept as one number (the generic cell rate
 * algorithm): the time at which the bucket is full again.
 */
export class SubjectBudget {
  readonly #fullAtMs = new Map<string, number>();

  get size(): number {
    return this.#fullAtMs.size;
  }

  /** Whether there is a request left for the object, which is then taken. `nowMs` is monotonic. */
  take(uid: string, nowMs: number): boolean {
    // Sums of fractions of a millisecond are not exact.
    const wholeMs = Math.floor(nowMs);
    const fullAtMs = Math.max(this.#fullAtMs.get(uid) ?? 0, wholeMs);
    const isLeft = fullAtMs + REFILL_MS <= wholeMs + BURST * REFILL_MS;
    this.#fullAtMs.delete(uid);
    this.#fullAtMs.set(uid, isLeft ? fullAtMs + REFILL_MS : fullAtMs);
    for (const oldest of this.#fullAtMs.keys()) {
      if (this.#fullAtMs.size <= SUBJECTS_MAX) break;
      this.#fullAtMs.delete(oldest);
    }
    return isLeft;
  }
}
