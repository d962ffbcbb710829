import type { Clock } from '@rollcall/common/clock.ts';
import { hasCode } from '@rollcall/common/coded-error.ts';
import { isTimeout, type WriteFence } from '../kube/client.ts';
import type { WriteOutcome } from './classify.ts';
import type { Feedback } from './concurrency-limiter.ts';
import type { ApplyMetrics, WriteKind } from './metrics.ts';
import type { SlowNodes } from './slow-nodes.ts';
import type { Lane } from './work-queue.ts';

/** No write is waited for longer. */
const WRITE_TIMEOUT_MAX_MS = 10_000;

/** `fenced`: nothing was sent, because this replica may not write any more. */
export type GateOutcome = WriteOutcome | { kind: 'fenced' };

export type WriteGateOptions = {
  fence: WriteFence;
  metrics: ApplyMetrics;
  clock: Clock;
  slowNodes: SlowNodes;
  /** Whether other Nodes wait for the place of a write in this lane. */
  isAwaited: (lane: Lane) => boolean;
  /** Called with what a write that began at `startedMs` said of the API server. */
  learn: (feedback: Feedback, startedMs: number) => void;
};

/** The Node that a write is for, and the lane that the Node came in. */
export type WriteContext = { node: string; lane: Lane };

/** How long a write may take, and until when on the monotonic clock. The signal aborts when it is given up before that. */
export type WriteLimits = { timeoutMs: number; untilMs: number; signal: AbortSignal };

/** Every write passes here: whether it may begin at all, how long it may take, and what it taught. */
export class WriteGate {
  readonly #options: WriteGateOptions;
  #closed = false;
  #underWay = 0;
  #settled: (() => void)[] = [];

  constructor(options: WriteGateOptions) {
    this.#options = options;
  }

  /** The moment on the monotonic clock, in milliseconds. */
  get nowMs(): number {
    return this.#options.clock.monotonic();
  }

  /** Whether a write could begin now. */
  get open(): boolean {
    return this.#remainingMs() > 0;
  }

  async pass(
    kind: WriteKind,
    { node, lane }: WriteContext,
    write: (limits: WriteLimits) => Promise<WriteOutcome>,
  ): Promise<GateOutcome> {
    const { clock, metrics, slowNodes, isAwaited, learn } = this.#options;
    const remainingMs = this.#remainingMs();
    if (remainingMs <= 0) return { kind: 'fenced' };
    const startedMs = clock.monotonic();
    const abort = new AbortController();
    // A Node that is known to be slow holds up only others of its kind, and has its time.
    const isNews = lane !== 'slow';
    const ended = isNews
      ? slowNodes.watch(
          node,
          () => isAwaited(lane),
          (reason) => abort.abort(reason),
        )
      : () => {};
    this.#underWay += 1;
    try {
      const timeoutMs = Math.min(WRITE_TIMEOUT_MAX_MS, remainingMs);
      const outcome = await write({ timeoutMs, untilMs: startedMs + timeoutMs, signal: abort.signal });
      const tookMs = clock.monotonic() - startedMs;
      const feedback = feedbackOf(outcome);
      if (feedback) learn(feedback, startedMs);
      if (feedback?.kind !== 'unreachable') slowNodes.took(node, feedback ? tookMs : Number.POSITIVE_INFINITY);
      metrics.countPatch(kind, outcome.kind);
      metrics.observePatch(kind, tookMs / 1000);
      return outcome;
    } finally {
      ended();
      this.#underWay -= 1;
      if (this.#underWay === 0) for (const resolve of this.#settled.splice(0)) resolve();
    }
  }

  /** Resolves as soon as no write is under way. */
  settled(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#settled.push(resolve));
  }

  /** No write begins any more. */
  close(): void {
    this.#closed = true;
  }

  #remainingMs(): number {
    return this.#closed ? 0 : this.#options.fence.remainingMs();
  }
}

/** What a write says about the API server; nothing where it was not answered in time, which may be the Node's matter. */
function feedbackOf(outcome: WriteOutcome): Feedback | undefined {
  if (outcome.kind === 'throttled' && outcome.isForAll) return outcome;
  if (outcome.kind === 'failed' && isTimeout(outcome.error)) return undefined;
  const unanswered = outcome.kind === 'failed' && hasCode(outcome.error, 'KUBE_UNREACHABLE');
  return unanswered ? { kind: 'unreachable' } : { kind: 'answered' };
}
