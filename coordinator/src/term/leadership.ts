import { type Clock, haveClocksParted, type Moment } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { WriteFence } from '../kube/client.ts';
import type { KubeMetrics } from '../kube/kube-metrics.ts';
import type { ElectionCallbacks } from './election.ts';

export type LeadershipOptions = {
  clock: Clock;
  renewDeadlineMs: number;
  identity: string;
  logger: Logger;
  callbacks: Pick<ElectionCallbacks, 'onStartedLeading' | 'onStoppedLeading'>;
  metrics: Pick<KubeMetrics, 'leading'> | undefined;
  /** Something changed on which the next step depends. */
  onChange: () => void;
};

const NEVER: Moment = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };

/**
 * Whether this replica leads, and for how long it may go on without another renewal. Durations are of the monotonic
 * clock, in milliseconds, and are computed at each call, not by a timer: a process that was stopped, or whose machine
 * was suspended, finds that it no longer leads before it does anything else.
 */
export class Leadership implements WriteFence {
  readonly #options: LeadershipOptions;
  #term: number | undefined;
  #renewed: Moment = NEVER;
  #cancelTimer = () => {};

  constructor(options: LeadershipOptions) {
    this.#options = options;
    options.metrics?.leading(false);
  }

  /** `undefined` on a standby. */
  get term(): number | undefined {
    return this.#term;
  }

  /** When the last renewal that succeeded was begun, on the monotonic clock; it stays when leadership ends. */
  get renewedAt(): number {
    return this.#renewed.monotonicMs;
  }

  remainingMs(): number {
    return this.#term === undefined ? 0 : this.fencedInMs();
  }

  /** How long what was begun while leading may still be under way; 0 if how much time has passed is not certain. */
  fencedInMs(): number {
    const { clock, renewDeadlineMs } = this.#options;
    if (haveClocksParted(clock, this.#renewed)) return 0;
    return Math.max(0, this.renewedAt + renewDeadlineMs - clock.monotonic());
  }

  /** The Lease is ours by a write that was begun at `startedAt`. */
  start(term: number, startedAt: Moment): void {
    const { logger, metrics, callbacks, identity } = this.#options;
    this.#renewed = startedAt;
    // After a pause the answer to the write may be older than the lease is long.
    if (this.fencedInMs() === 0) return;
    this.#term = term;
    this.#armTimer();
    metrics?.leading(true);
    logger.info({ term, identity }, 'Started leading');
    this.#tell(() => callbacks.onStartedLeading(term));
  }

  /** Has no effect once leadership has ended, since the subscribers were told and begin anew. */
  extend(startedAt: Moment): void {
    // If it had run out before this renewal was known, writes were turned away, and the next term evaluates them again.
    this.check();
    if (this.#term === undefined) return;
    this.#renewed = startedAt;
    this.#armTimer();
  }

  end(cause: string): void {
    const { logger, metrics, callbacks } = this.#options;
    if (this.#term === undefined) return;
    const term = this.#term;
    this.#term = undefined;
    this.#cancelTimer();
    metrics?.leading(false);
    logger.info({ term, cause }, 'Stopped leading');
    this.#tell(() => callbacks.onStoppedLeading());
    this.#options.onChange();
  }

  /** Ends leadership that has run out. */
  check(): void {
    if (this.#term === undefined) return;
    if (this.remainingMs() > 0) this.#armTimer();
    else if (haveClocksParted(this.#options.clock, this.#renewed)) {
      this.end('the machine was suspended, or its clock was set');
    } else this.end('the Lease was not renewed in time');
  }

  #armTimer(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(this.remainingMs(), () => this.check());
  }

  /** A caller that throws must not end the election. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (err) {
      this.#options.logger.error({ err }, 'Failed to act on a change of leadership');
    }
  }
}
