/** How many writes may be under way at first, at least and at most. */
export const CONCURRENCY_INITIAL = 16;
export const CONCURRENCY_MIN = 1;
export const CONCURRENCY_MAX = 64;

/** Latency counts as flat up to this multiple of the reference, and as doubled from the other. */
const FLAT = 1.25;
const DOUBLED = 2;

/** A verdict takes so many samples and so much time, at least: less is noise. */
const SAMPLES_MIN = 32;
const ROUND_MS = 250;

/** A few slow rounds are a garbage collection or a neighbor's work; this many in a row are the API server's answer. */
const SLOW_ROUNDS = 6;

/**
 * Latency alone does not take the limit lower. What is slow with so few requests is slow for other reasons, and sending
 * still fewer would only take longer; the API server itself may still say that it is too much.
 */
const SLOW_LIMIT_MIN = 8;

/** A limit below the initial one that was learnt so long ago says nothing about now. */
const RECOVERY_MS = 60_000;

/** One answered request. Times are by the monotonic clock. */
export type LatencySample = {
  startedMs: number;
  nowMs: number;
  /** Whether the limit was reached when it started. Below it, latency says nothing about the limit. */
  full: boolean;
};

/**
 * Decides how many writes may be under way: more while latency stays flat, half when the API server throttles or its
 * latency doubles.
 *
 * Latency at a saturated server is proportional to what is under way, so it is only compared with itself at nearly the
 * same limit: the reference is the lowest median since the limit was last cut, and is learnt anew after a cut. A limit
 * that grows past saturation by a quarter therefore stops growing, and a server that is slower for good costs one cut,
 * not one after another down to the minimum.
 */
export class ConcurrencyWindow {
  #limit = CONCURRENCY_INITIAL;
  #referenceMs: number | undefined;
  #samplesMs: number[] = [];
  #slowRounds = 0;
  #roundStartMs = 0;
  /** What started before belongs to another limit. */
  #relearntMs = Number.NEGATIVE_INFINITY;
  #cutMs = Number.NEGATIVE_INFINITY;

  get limit(): number {
    return this.#limit;
  }

  answered({ startedMs, nowMs, full }: LatencySample): void {
    if (this.#limit < CONCURRENCY_INITIAL && nowMs - this.#cutMs >= RECOVERY_MS)
      this.#relearn(CONCURRENCY_INITIAL, nowMs);
    if (!full || startedMs < this.#relearntMs) return;
    if (this.#samplesMs.length === 0) this.#roundStartMs = nowMs;
    this.#samplesMs.push(nowMs - startedMs);
    if (this.#samplesMs.length < SAMPLES_MIN || nowMs - this.#roundStartMs < ROUND_MS) return;
    const medianMs = median(this.#samplesMs);
    this.#samplesMs = [];
    this.#judge(medianMs, nowMs);
  }

  /** However many requests of one round are throttled, the limit is halved once. */
  throttled({ startedMs, nowMs }: { startedMs: number; nowMs: number }): void {
    if (startedMs < this.#cutMs) return;
    this.#relearn(Math.max(CONCURRENCY_MIN, Math.floor(this.#limit / 2)), nowMs);
    this.#cutMs = nowMs;
  }

  #judge(medianMs: number, nowMs: number): void {
    if (this.#referenceMs === undefined) {
      this.#referenceMs = medianMs;
      return;
    }
    const reference = this.#referenceMs;
    // Half way, since the lowest of many rounds is luck.
    this.#referenceMs = Math.min(reference, (reference + medianMs) / 2);
    this.#slowRounds = medianMs >= reference * DOUBLED ? this.#slowRounds + 1 : 0;
    if (this.#slowRounds >= SLOW_ROUNDS) {
      const half = Math.max(SLOW_LIMIT_MIN, Math.floor(this.#limit / 2));
      this.#relearn(Math.min(this.#limit, half), nowMs);
      this.#cutMs = nowMs;
    } else if (medianMs <= reference * FLAT) {
      this.#limit = Math.min(CONCURRENCY_MAX, this.#limit + Math.ceil(this.#limit / 8));
    }
  }

  #relearn(limit: number, nowMs: number): void {
    this.#limit = limit;
    this.#referenceMs = undefined;
    this.#slowRounds = 0;
    this.#samplesMs = [];
    this.#relearntMs = nowMs;
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
