import type { Clock } from '@rollcall/common/clock.ts';
import { hasCode } from '@rollcall/common/coded-error.ts';
import type { WriteFence } from '../kube/client.ts';
import type { Feedback, Slot } from './concurrency-limiter.ts';
import type { ApplyMetrics, WriteKind } from './metrics.ts';
import type { WriteOutcome } from './write-outcome.ts';

/** No write is waited for longer. */
const WRITE_TIMEOUT_MAX_MS = 10_000;

/** `fenced`: nothing was sent, because this replica may not write any more. */
export type GateOutcome = WriteOutcome | { kind: 'fenced' };

/** Every write passes here: whether it may begin at all, how long it may take, and what it taught. */
export class WriteGate {
  readonly #fence: WriteFence;
  readonly #metrics: ApplyMetrics;
  readonly #clock: Clock;
  #closed = false;
  #underWay = 0;
  #settled: (() => void)[] = [];

  constructor({ fence, metrics, clock }: { fence: WriteFence; metrics: ApplyMetrics; clock: Clock }) {
    this.#fence = fence;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** Whether a write could begin now. */
  get open(): boolean {
    return this.#remainingMs() > 0;
  }

  async pass(kind: WriteKind, slot: Slot, write: (timeoutMs: number) => Promise<WriteOutcome>): Promise<GateOutcome> {
    const remainingMs = this.#remainingMs();
    if (remainingMs <= 0) return { kind: 'fenced' };
    const startedMs = this.#clock.monotonic();
    this.#underWay += 1;
    try {
      const outcome = await write(Math.min(WRITE_TIMEOUT_MAX_MS, remainingMs));
      slot.report(feedbackOf(outcome));
      this.#metrics.countPatch(kind, outcome.kind);
      this.#metrics.observePatch(kind, (this.#clock.monotonic() - startedMs) / 1000);
      return outcome;
    } finally {
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
    return this.#closed ? 0 : this.#fence.remainingMs();
  }
}

function feedbackOf(outcome: WriteOutcome): Feedback {
  if (outcome.kind === 'throttled') return outcome;
  const unanswered = outcome.kind === 'failed' && hasCode(outcome.error, 'KUBE_UNREACHABLE');
  return unanswered ? { kind: 'unreachable' } : { kind: 'answered' };
}
