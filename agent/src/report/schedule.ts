import { Backoff } from '@rollcall/common/backoff.ts';
import { NEXT_REPORT_SECONDS_MAX, NEXT_REPORT_SECONDS_MIN } from './reply.ts';

/** The shortest time between two attempts while they fail. */
const RETRY_SPACING_MS = 200;

const RETRY_BASE_MS = 2 * RETRY_SPACING_MS;
const RETRY_MAX_MS = 10_000;
/** Of a time that a coordinator asks to wait; the rest is chance, so that a fleet does not come back in step. */
const RETRY_AFTER_SPREAD = 0.25;
/** No backoff is capped below this, however short the interval between reports. */
const RETRY_CAP_MS_MIN = 1000;

/** Heartbeats come up to this share early, so that agents that started together do not stay in step. */
const HEARTBEAT_JITTER = 0.05;

/** Decides when the next report is due. Times are milliseconds of a monotonic clock. */
export class Schedule {
  readonly #random: () => number;
  readonly #backoff: Backoff;
  #intervalMs: number;
  #dueMs = Number.NEGATIVE_INFINITY;
  #changeDueMs = Number.NEGATIVE_INFINITY;
  /** The longest time that a coordinator asked to wait since the list was begun. */
  #askedMs = 0;

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
    this.#askedMs = 0;
    if (nextReportSeconds !== undefined) this.#intervalMs = clampSeconds(nextReportSeconds) * 1000;
    this.#dueMs = nowMs + this.#intervalMs * (1 - HEARTBEAT_JITTER * this.#random());
    this.#changeDueMs = nowMs;
  }

  /** The coordinator takes part in what it knows: it asks for the content, which goes out at once. */
  contentWanted(nowMs: number): void {
    this.#dueMs = nowMs;
  }

  /**
   * While there is somebody else to try, that happens at once. After that it waits: as long as a coordinator asked for
   * (`retryAfterMs`, which holds for news as well), or with backoff, but never much longer than the interval between
   * reports, after a few of which a silent node is given up.
   */
  failed(attempt: { startMs: number; nowMs: number; retryAfterMs: number; exhausted: boolean }): void {
    const { startMs, nowMs, retryAfterMs, exhausted } = attempt;
    this.#askedMs = Math.max(this.#askedMs, retryAfterMs);
    this.#changeDueMs = Math.max(startMs + RETRY_SPACING_MS, nowMs);
    this.#dueMs = this.#changeDueMs;
    if (!exhausted) return;
    this.#dueMs = nowMs + (this.#askedMs > 0 ? this.#spread(this.#askedMs) : this.#backedOff());
    this.#changeDueMs = Math.max(this.#changeDueMs, nowMs + this.#askedMs);
    this.#askedMs = 0;
  }

  #spread(askedMs: number): number {
    return askedMs * (1 + RETRY_AFTER_SPREAD * this.#random());
  }

  #backedOff(): number {
    return Math.min(this.#backoff.next(), Math.max(RETRY_CAP_MS_MIN, this.#intervalMs));
  }
}

function clampSeconds(seconds: number): number {
  return Math.min(NEXT_REPORT_SECONDS_MAX, Math.max(NEXT_REPORT_SECONDS_MIN, seconds));
}
