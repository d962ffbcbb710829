import { Backoff } from '@rollcall/common/backoff.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import { hasCode } from '@rollcall/common/coded-error.ts';
import { isTimeout } from '../kube/client.ts';
import type { WriteOutcome } from './classify.ts';
import type { ApplyMetrics, WriteKind } from './metrics.ts';
import type { SlowNodes } from './slow-nodes.ts';
import type { Lane } from './work-queue.ts';

/** How many requests may be under way, those to slow Nodes included. */
export const WRITES_MAX = 16;

/** No write is waited for longer. */
const WRITE_TIMEOUT_MS = 10_000;
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

export type WriteGateOptions = {
  metrics: ApplyMetrics;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  slowNodes: SlowNodes;
  /** Whether Nodes of this lane are still in the queue. */
  isAwaited: (lane: Lane) => boolean;
};

/** The Node that a write is for, and the lane that the Node came in. */
export type WriteContext = { node: string; lane: Lane };

/** How long a write may take at most, and until when on the monotonic clock. The signal aborts when it is given up before that. */
export type WriteLimits = { timeoutMs: number; untilMs: number; signal: AbortSignal };

/**
 * Every request passes here, in one of 16 slots: when it may begin, how long it may take, and what it taught. All wait while
 * the API server asks for patience or does not answer.
 */
export class WriteGate {
  readonly #options: WriteGateOptions;
  /** What waits for a slot. The seats of the queue bound how many. */
  readonly #waiting: Readonly<Record<Lane, ((isAdmitted: boolean) => void)[]>> = { slow: [], urgent: [], normal: [] };
  readonly #unreachable: Backoff;
  #slotsTaken = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #cancelWake: (() => void) | undefined;
  #lostMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: WriteGateOptions) {
    this.#options = options;
    const { random } = options;
    this.#unreachable = new Backoff({ baseMs: UNREACHABLE_BASE_MS, maxMs: UNREACHABLE_MAX_MS, random });
  }

  /** The moment on the monotonic clock, in milliseconds. */
  get nowMs(): number {
    return this.#options.clock.monotonic();
  }

  get inFlight(): number {
    return this.#slotsTaken;
  }

  /** Whether several times in a row nothing answered. */
  get unreachable(): boolean {
    return this.#unreachable.attempts >= UNREACHABLE_ATTEMPTS;
  }

  /** Runs `task` as soon as there is a slot: at once, where there is one. `undefined`, without running it, once the gate is closed. */
  async run<T>(lane: Lane, task: () => Promise<T>): Promise<T | undefined> {
    if (this.#closed) return undefined;
    if (this.#isFree() && this.#next() === undefined) this.#slotsTaken += 1;
    else if (!(await new Promise<boolean>((resolve) => this.#wait(lane, resolve)))) return undefined;
    try {
      return await task();
    } finally {
      this.#slotsTaken -= 1;
      this.#admit();
    }
  }

  async pass(
    kind: WriteKind,
    { node, lane }: WriteContext,
    write: (limits: WriteLimits) => Promise<WriteOutcome>,
  ): Promise<WriteOutcome> {
    const { metrics, slowNodes, isAwaited } = this.#options;
    const startedMs = this.nowMs;
    const abort = new AbortController();
    // A Node that is known to be slow holds up only others of its kind, and has its time.
    const isNews = lane !== 'slow';
    const ended = isNews
      ? slowNodes.watch(
          node,
          () => isAwaited(lane) || this.#next() !== undefined,
          (reason) => abort.abort(reason),
        )
      : () => {};
    try {
      const limits = { timeoutMs: WRITE_TIMEOUT_MS, untilMs: startedMs + WRITE_TIMEOUT_MS, signal: abort.signal };
      const outcome = await write(limits);
      if (outcome.kind === 'fenced') return outcome;
      this.#learn(node, outcome, startedMs);
      metrics.countPatch(kind, outcome.kind);
      metrics.observePatch(kind, (this.nowMs - startedMs) / 1000);
      return outcome;
    } finally {
      ended();
    }
  }

  /** Nothing begins any more; what waits is let go. */
  close(): void {
    this.#closed = true;
    this.#cancelWake?.();
    for (const lane of Object.values(this.#waiting)) for (const admit of lane.splice(0)) admit(false);
  }

  #isFree(): boolean {
    return this.nowMs >= this.#pausedUntilMs && this.#slotsTaken < WRITES_MAX;
  }

  /** The lane from which the next one starts. Writes to slow Nodes go first: their seats in the queue are few. */
  #next(): Lane | undefined {
    return (['slow', 'urgent', 'normal'] as const).find((lane) => this.#waiting[lane].length > 0);
  }

  #wait(lane: Lane, admit: (isAdmitted: boolean) => void): void {
    this.#waiting[lane].push(admit);
    this.#admit();
  }

  #admit(): void {
    for (let lane = this.#next(); lane !== undefined && this.#isFree(); lane = this.#next()) {
      this.#slotsTaken += 1;
      this.#waiting[lane].shift()?.(true);
    }
    const pauseMs = this.#pausedUntilMs - this.nowMs;
    if (this.#next() === undefined || pauseMs <= 0 || this.#cancelWake || this.#closed) return;
    this.#cancelWake = this.#options.clock.after(pauseMs, () => {
      this.#cancelWake = undefined;
      this.#admit();
    });
  }

  /** Takes what a write says of its Node and of the API server. */
  #learn(node: string, outcome: WriteOutcome, startedMs: number): void {
    const { slowNodes } = this.#options;
    const error = outcome.kind === 'failed' ? outcome.error : undefined;
    if (isTimeout(error)) {
      // That may be the matter of this Node alone.
      slowNodes.took(node, Number.POSITIVE_INFINITY);
    } else if (hasCode(error, 'KUBE_UNREACHABLE')) {
      // Of those that were under way together, the first to fail speaks for all.
      if (startedMs < this.#lostMs) return;
      this.#lostMs = this.nowMs;
      this.#pause(this.#unreachable.next());
    } else {
      slowNodes.took(node, this.nowMs - startedMs);
      this.#unreachable.reset();
      if (outcome.kind === 'throttled' && outcome.isForAll) this.#pause(outcome.retryAfterMs);
    }
  }

  #pause(delayMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.nowMs + Math.min(PAUSE_MAX_MS, delayMs));
  }
}
