import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@rollcall/common/logging.ts';
import type { KubeMetrics } from '../kube/kube-metrics.ts';
import { isOlderVersion } from '../kube/objects.ts';
import type { ElectionCallbacks } from './election.ts';
import { fingerprint, isWithoutHolder, type Lease, leaseState, type Whereabouts, whereabouts } from './lease-record.ts';

export type LeaseObserverOptions = {
  identity: string;
  leaseDurationMs: number;
  /** A number in [0, 1). */
  random: () => number;
  /** A Lease that was asked for later has an older version than one that was seen. */
  onHistoryWentBack?: () => void;
};

/** Candidates that see a Lease become free reach for it at slightly different times. */
const SPREAD_MS = 250;
/**
 * A Lease that is not there may have been deleted a moment ago. Its holder hears of it at once and makes it anew; a
 * candidate that has just started, and so cannot know of a holder, leaves it that time.
 */
const ABSENCE_MS = 200;

/**
 * What one candidate knows of the Lease, and from when on it may take it. Whether a holder has let its lease run out
 * is evaluated by how long the record has not changed on the candidate's own monotonic clock, never by the times that are
 * written in it: wall clocks differ (client-go does the same). All times here are of that clock, in milliseconds.
 */
export class LeaseObserver {
  readonly #options: LeaseObserverOptions;
  #lease: Lease | undefined;
  #fingerprint: string | undefined;
  #observedAt = 0;
  #changedAt: number | undefined;
  /** Until then another replica may rightly believe that it holds the Lease. */
  #othersUntil = Number.NEGATIVE_INFINITY;
  #wasEverHeld = false;
  #spreadMs = 0;
  #termMax = 0;

  constructor(options: LeaseObserverOptions) {
    this.#options = options;
  }

  /** The latest record; `undefined` when there is none, or it was not read yet. */
  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** When the record was last seen to change or go; `undefined` before the first look. */
  get changedAt(): number | undefined {
    return this.#changedAt;
  }

  /** The highest number of transitions seen; it survives that the Lease is deleted. */
  get termMax(): number {
    return this.#termMax;
  }

  /** From when on this candidate may try to take the Lease. */
  get takeableAt(): number {
    return Math.max(this.#othersUntil, this.#changedAt ?? Number.NEGATIVE_INFINITY) + this.#spreadMs;
  }

  /**
   * Takes in a record that arrived at `now`, as the answer to a question asked at `askedAt` or from a watch
   * (`undefined`). Returns whether it says something new.
   */
  observe(lease: Lease, now: number, askedAt?: number): boolean {
    if (this.#isOutdated(lease, askedAt)) return false;
    const wasAbsent = this.#lease === undefined && this.#changedAt !== undefined;
    if (this.#lease && isOlderVersion(lease.metadata.resourceVersion, this.#lease.metadata.resourceVersion)) {
      this.#options.onHistoryWentBack?.();
    }
    this.#lease = lease;
    this.#observedAt = now;
    this.#termMax = Math.max(this.#termMax, lease.spec?.leaseTransitions ?? 0);
    const print = fingerprint(lease);
    if (print === this.#fingerprint) return false;
    this.#fingerprint = print;
    const isUnclaimed = leaseState(lease).state === 'unclaimed';
    // Where there was nothing before, a record without content is no news to a candidate that has just started.
    if (isUnclaimed && wasAbsent && !this.#wasEverHeld) return false;
    this.#changed(now, isUnclaimed ? ABSENCE_MS : 0);
    this.#othersUntil = this.#judge(lease, now);
    return true;
  }

  /** The Lease is not there. The first step to take it is to create it; what that waits for is evaluated then. */
  observeAbsence(now: number): void {
    if (this.#lease === undefined && this.#changedAt !== undefined) return;
    this.#lease = undefined;
    this.#fingerprint = undefined;
    this.#changed(now, ABSENCE_MS);
    this.#othersUntil = Number.NEGATIVE_INFINITY;
  }

  /** Answers and events overtake one another; only if it was asked for later, an older version is the truth. */
  #isOutdated(lease: Lease, askedAt: number | undefined): boolean {
    if (this.#lease === undefined) return false;
    if (!isOlderVersion(lease.metadata.resourceVersion, this.#lease.metadata.resourceVersion)) return false;
    return askedAt === undefined || askedAt < this.#observedAt;
  }

  #changed(now: number, leastMs: number): void {
    this.#changedAt = now;
    this.#spreadMs = leastMs + this.#options.random() * SPREAD_MS;
  }

  #judge(lease: Lease, now: number): number {
    const { identity, leaseDurationMs } = this.#options;
    const state = leaseState(lease);
    if (state.state === 'unclaimed') return this.#judgeUnclaimed(now);
    if (state.state === 'released') return now;
    this.#wasEverHeld = true;
    if (state.holder === identity) return now;
    return now + Math.max(state.durationMs, leaseDurationMs);
  }

  /**
   * Handles a Lease that a person deleted and another replica created anew. An earlier holder, not necessarily the last
   * one seen, may not know yet, so its lease duration is waited out while this new record stays as it is. That there
   * was no record does not count, because a record may have come and gone unseen.
   */
  #judgeUnclaimed(now: number): number {
    return this.#wasEverHeld ? now + this.#options.leaseDurationMs : this.#othersUntil;
  }
}

export type LeaderNewsOptions = {
  logger: Logger;
  callbacks: Pick<ElectionCallbacks, 'onLeaderChanged'>;
  metrics: Pick<KubeMetrics, 'leaderChanged'> | undefined;
};

const NOWHERE: Whereabouts = { url: undefined, schedulerUrl: undefined, consoleUrl: undefined };

/** Reports the leader and its addresses whenever a record of the Lease changes them. */
export class LeaderNews {
  readonly #options: LeaderNewsOptions;
  #identity: string | undefined;
  #where: Whereabouts = NOWHERE;

  constructor(options: LeaderNewsOptions) {
    this.#options = options;
  }

  take(lease: Lease): void {
    const { logger, callbacks, metrics } = this.#options;
    // Most likely the leader is still there and is about to write its name again.
    if (isWithoutHolder(lease)) return;
    const identity = lease.spec?.holderIdentity || undefined;
    const where = identity === undefined ? NOWHERE : whereabouts(lease);
    if (this.#identity === identity && isDeepStrictEqual(this.#where, where)) return;
    if (identity !== undefined && this.#identity !== identity) metrics?.leaderChanged();
    this.#identity = identity;
    this.#where = where;
    logger.info({ leader: identity, url: where.url }, 'Saw a change of the leader');
    try {
      callbacks.onLeaderChanged(where.url, identity, where.schedulerUrl, where.consoleUrl);
    } catch (err) {
      logger.error({ err }, 'Failed to act on a change of the leader');
    }
  }
}
