import { Backoff } from '@rollcall/common/backoff.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Lane } from './work-queue.ts';

/** What a request said about the API server as a whole. */
export type Feedback =
  | { kind: 'answered' }
  | { kind: 'throttled'; retryAfterMs: number }
  /** No answer came, or not in time. */
  | { kind: 'unreachable' };

/** How many requests to write may be under way, those to slow Nodes included. */
export const WRITES_MAX = 16;

/** No Retry-After holds everything up for longer. */
const PAUSE_MAX_MS = 60_000;
/**
 * While nothing answers, all wait together instead of each for itself, so that all go on soon after it does again. The
 * first wait is short: mostly an idle connection was closed, and the next request opens another.
 */
const UNREACHABLE_BASE_MS = 10;
const UNREACHABLE_MAX_MS = 2000;
/** So many in a row are no accident. */
const UNREACHABLE_ATTEMPTS = 3;

/** Bounds the requests under way, and makes all wait while the API server asks for patience or does not answer. */
export class ConcurrencyLimiter {
  readonly #clock: Clock;
  /** The seats of the queue bound how many wait. */
  readonly #lanes: Readonly<Record<Lane, Admit[]>> = { slow: [], urgent: [], normal: [] };
  readonly #unreachable: Backoff;
  #inFlight = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #cancelWake: (() => void) | undefined;
  #lostMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor({ clock, random }: { clock: Clock; random: () => number }) {
    this.#clock = clock;
    this.#unreachable = new Backoff({ baseMs: UNREACHABLE_BASE_MS, maxMs: UNREACHABLE_MAX_MS, random });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#lanes.urgent.length + this.#lanes.slow.length + this.#lanes.normal.length;
  }

  /** Whether several times in a row nothing answered. */
  get unreachable(): boolean {
    return this.#unreachable.attempts >= UNREACHABLE_ATTEMPTS;
  }

  /** Runs `task` as soon as there is a slot. `undefined`, without running it, when the limiter was closed before. */
  async run<T>(lane: Lane, task: () => Promise<T>): Promise<T | undefined> {
    if (!(await this.#enter(lane))) return undefined;
    try {
      return await task();
    } finally {
      this.#inFlight -= 1;
      this.#admit();
    }
  }

  /** Nothing more begins; what waits is let go. */
  close(): void {
    this.#closed = true;
    this.#cancelWake?.();
    for (const lane of Object.values(this.#lanes)) for (const admit of lane.splice(0)) admit(false);
  }

  #enter(lane: Lane): boolean | Promise<boolean> {
    if (this.#closed) return false;
    return new Promise((resolve) => {
      this.#lanes[lane].push(resolve);
      this.#admit();
    });
  }

  /** Takes who may start next. Writes to slow Nodes go first: their seats in the queue are few. */
  #next(): Admit | undefined {
    if (this.#clock.monotonic() < this.#pausedUntilMs || this.#inFlight >= WRITES_MAX) return undefined;
    const { urgent, slow, normal } = this.#lanes;
    const admit = slow.shift() ?? urgent.shift() ?? normal.shift();
    if (admit) this.#inFlight += 1;
    return admit;
  }

  #admit(): void {
    for (let admit = this.#next(); admit; admit = this.#next()) admit(true);
    const pauseMs = this.#pausedUntilMs - this.#clock.monotonic();
    if (this.waiting === 0 || pauseMs <= 0 || this.#cancelWake || this.#closed) return;
    this.#cancelWake = this.#clock.after(pauseMs, () => {
      this.#cancelWake = undefined;
      this.#admit();
    });
  }

  /** A request that began at `startedMs`, monotonic, has ended. */
  learn(feedback: Feedback, startedMs: number): void {
    const nowMs = this.#clock.monotonic();
    if (feedback.kind === 'answered') {
      this.#unreachable.reset();
    } else if (feedback.kind === 'throttled') {
      this.#unreachable.reset();
      this.#pause(nowMs, feedback.retryAfterMs);
    } else if (startedMs >= this.#lostMs) {
      // Of those that were under way together, the first to fail speaks for all.
      this.#lostMs = nowMs;
      this.#pause(nowMs, this.#unreachable.next());
    }
  }

  #pause(nowMs: number, delayMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.min(PAUSE_MAX_MS, delayMs));
  }
}

type Admit = (admitted: boolean) => void;
