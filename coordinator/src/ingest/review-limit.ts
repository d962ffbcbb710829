/** A pod's token is renewed once in most of an hour. */
const POD_PAUSE_MS = 1000;
const PER_SECOND_MIN = 10;
/** A fleet that cannot be verified otherwise is let in within so many seconds. */
const FLEET_SECONDS = 20;

/**
 * How many TokenReviews there may be: one at a time for a pod and one a second, a few a second for all. Who makes up
 * tokens for a pod that he knows takes that pod's turns, and nobody else's.
 */
export class ReviewLimit {
  readonly #agents: () => number;
  readonly #running = new Set<string>();
  readonly #beganMs = new Map<string, number>();
  #fullAtMs = Number.NEGATIVE_INFINITY;

  /** `agents`: how many pods of agents there are. */
  constructor(agents: () => number) {
    this.#agents = agents;
  }

  /** Whether a review of a token of this pod may begin; it ends with `end`. */
  begin(podUid: string, nowMs: number): boolean {
    if (this.#running.has(podUid) || nowMs - (this.#beganMs.get(podUid) ?? Number.NEGATIVE_INFINITY) < POD_PAUSE_MS) {
      return false;
    }
    if (this.#fullAtMs - nowMs >= 1000) return false;
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + 1000 / Math.max(PER_SECOND_MIN, this.#agents() / FLEET_SECONDS);
    this.#running.add(podUid);
    // The oldest first, so that what is of no more use is at the beginning.
    this.#beganMs.delete(podUid);
    this.#beganMs.set(podUid, nowMs);
    for (const [uid, beganMs] of this.#beganMs) {
      if (nowMs - beganMs < POD_PAUSE_MS) break;
      this.#beganMs.delete(uid);
    }
    return true;
  }

  end(podUid: string): void {
    this.#running.delete(podUid);
  }
}
