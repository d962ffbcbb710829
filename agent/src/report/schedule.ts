import { Backoff } from '@rollcall/common/backoff.ts';
import { NEXT_REPORT_SECONDS_MAX, NEXT_REPORT_SECONDS_MIN } from './reply.ts';

/** The shortest time between two attempts while they fail. */
const RETRY_SPACING_MS = 200;

const RETRY_BASE_MS = 2 * RETRY_SPACING_MS;
const RETRY_MAX_MS = 10_000;

/** Heartbeats come up to this share early, so that agents that started together do not stay in step. */
const HEARTBEAT_JITTER = 0.05;

/** Decides when the next report is due. Times are milliseconds of a monotonic clock. */
export class Schedule {
  readonly #random: () => number;
  readonly #backoff: Backoff;
  #intervalMs: number;
  #dueMs = Number.NEGATIVE_INFINITY;
  #changeDueMs = Number.NEGATIVE_INFINITY;

  /** `heartbeatSeconds`: until the coordinator names another interval. `random`: in [0, 1). */
  constructor(options: { heartbeatSeconds: number; random: () => number }) {
    this.#random = options.random;
    this.#backoff = new Backoff({ baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random: options.random });
    this.#intervalMs = clampSeconds(options.heartbeatSeconds) * 1000;
  }

  /** When to report: news go out as soon as they may, the same again when its time has come. */
  dueMs(hasNews: boolean): number {
    return hasNews ? Math.min(this.#changeDueMs, this.#dueMs) : this.#dueMs;
  }

  accepted(nowMs: number, nextReportSeconds: number | undefined): void {
    this.#backoff.reset();
    if (nextReportSeconds !== undefined) this.#intervalMs = clampSeconds(nextReportSeconds) * 1000;
    this.#dueMs = nowMs + this.#intervalMs * (1 - HEARTBEAT_JITTER * this.#random());
    this.#changeDueMs = nowMs;
  }

  /** The coordinator takes part in what it knows: it asks for the content, which goes out at once. */
  contentWanted(nowMs: number): void {
    this.#dueMs = nowMs;
  }

  /** `retryAfterMs`: what the coordinator asked for, which holds for news as well. */
  failed(startMs: number, nowMs: number, retryAfterMs: number): void {
    this.#dueMs = nowMs + Math.max(this.#backoff.next(), retryAfterMs);
    this.#changeDueMs = Math.max(startMs + RETRY_SPACING_MS, nowMs + retryAfterMs);
  }
}

function clampSeconds(seconds: number): number {
  return Math.min(NEXT_REPORT_SECONDS_MAX, Math.max(NEXT_REPORT_SECONDS_MIN, seconds));
}
