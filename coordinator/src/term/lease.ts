import { type Clock, momentOf } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { collectionPath } from '../kube/apply-object.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeMetrics } from '../kube/kube-metrics.ts';
import { createReflector } from '../kube/reflector.ts';
import { classifyFailure } from '../kube/reflector-failure.ts';
import { type Election, type ElectionCallbacks, LEASE_TIMING, type LeaseTiming } from './election.ts';
import { Leadership } from './leadership.ts';
import { LeaderNews, LeaseObserver } from './lease-observer.ts';
import {
  acquired,
  type Candidate,
  isWithoutHolder,
  type Lease,
  LeaseStore,
  microTime,
  released,
  renewed,
} from './lease-record.ts';

export type LeaseElectionOptions = {
  /** A client with connections of its own, so that a renewal never waits behind other requests. */
  client: KubeClient;
  namespace: string;
  name: string;
  identity: string;
  /** The URL at which this replica takes reports when it leads. */
  leaderUrl: string;
  /** The URL at which it answers kube-scheduler; absent if it does not. */
  schedulerUrl?: string;
  /** The URL of its console; absent if other replicas cannot reach it. */
  consoleUrl?: string;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  signal: AbortSignal;
  logger: Logger;
  callbacks: ElectionCallbacks;
  metrics?: Pick<KubeMetrics, 'leading' | 'leaderChanged' | 'watchEvent' | 'watchRestarted'>;
  timing?: LeaseTiming;
};

/** A leader renews every 2 s: after a longer silence a standby asks, in case its watch has not told. */
const SILENCE_MS = 5000;
/** Delay before the next try after another replica was faster. */
const OVERTAKEN_MS = 100;
/** How long a clean stop waits for the request under way, and for each of its own. */
const STOP_STEP_MS = 1000;

/**
 * Takes part in the election for a Lease, with the semantics of client-go's leader election, and these beside: it
 * fences itself by the monotonic clock, it goes on as a standby when it loses, and it frees the Lease only after the
 * writes under way have settled.
 *
 * Why no two replicas lead at once: the leader counts `renewDeadlineMs` from before it sent its last good renewal, and
 * stops when its two clocks no longer agree on the time since then, because the machine may have been suspended. A
 * standby counts the longer `leaseDurationMs` from after it saw that renewal, and then replaces the very version that
 * it has seen, which fails if there was another renewal.
 */
export function createLeaseElection(options: LeaseElectionOptions): Election {
  return new LeaseElection(options);
}

class LeaseElection implements Election {
  readonly #options: LeaseElectionOptions;
  readonly #retryPeriodMs: number;
  readonly #candidate: Candidate;
  readonly #store: LeaseStore;
  readonly #observer: LeaseObserver;
  readonly #leadership: Leadership;
  readonly #news: LeaderNews;
  readonly #stop = new AbortController();
  #retryAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The number of writes, which keeps the written times unique. */
  #writes = 0;
  #underWay: Promise<void> = Promise.resolve();
  #wake = () => {};
  /** The current failure; `undefined` while all goes well. */
  #failing: string | undefined;

  constructor(options: LeaseElectionOptions) {
    const {
      client,
      namespace,
      name,
      identity,
      leaderUrl,
      schedulerUrl = '',
      consoleUrl = '',
      clock,
      random,
      signal,
      logger,
      callbacks,
      metrics,
    } = options;
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = options.timing ?? LEASE_TIMING;
    const onChange = () => this.#wake();
    this.#options = options;
    this.#retryPeriodMs = retryPeriodMs;
    this.#candidate = { identity, leaderUrl, schedulerUrl, consoleUrl, leaseDurationMs };
    this.#store = new LeaseStore(client, namespace, name);
    const onHistoryWentBack = () => callbacks.onHistoryWentBack?.();
    this.#observer = new LeaseObserver({ identity, leaseDurationMs, random, onHistoryWentBack });
    this.#leadership = new Leadership({ clock, renewDeadlineMs, identity, logger, callbacks, metrics, onChange });
    this.#news = new LeaderNews({ logger, callbacks, metrics });
    if (signal.aborted) this.#stop.abort();
    else signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  remainingMs(): number {
    return this.#leadership.remainingMs();
  }

  silentMs(): number {
    return this.#options.clock.monotonic() - (this.#observer.changedAt ?? Number.NEGATIVE_INFINITY);
  }

  isLeading(): boolean {
    return this.remainingMs() > 0;
  }

  async run(): Promise<void> {
    const watching = this.#watch();
    while (!this.#stop.signal.aborted) {
      await this.#untilDue();
      if (this.#stop.signal.aborted) break;
      this.#underWay = this.#attempt();
      await this.#underWay;
    }
    await watching;
  }

  async release(afterSettled: Promise<unknown>): Promise<void> {
    const { logger } = this.#options;
    this.#end();
    // The answer of the write under way tells whether there is a Lease to free, so it is not cut off.
    await this.#settles(this.#underWay, STOP_STEP_MS);
    if (this.#writes === 0) return this.#store.abort();
    if (!(await this.#settles(afterSettled, this.#leadership.fencedInMs()))) {
      logger.warn('Left the Lease to run out, because writes had not settled');
      return this.#store.abort();
    }
    try {
      await this.#free();
    } catch (err) {
      logger.warn({ err }, 'Failed to free the Lease');
    }
    this.#store.abort();
  }

  #watch(): Promise<void> {
    const { client, name, clock, random, logger, metrics } = this.#options;
    return createReflector<Lease>({
      client,
      path: collectionPath(this.#store.ref),
      // RBAC lets a watch through that asks for the one name it permits.
      fieldSelector: `metadata.name=${name}`,
      clock,
      random,
      signal: this.#stop.signal,
      logger,
      handlers: {
        onReplace: ([lease]) => (lease ? this.#observe(lease) : this.#observeAbsence()),
        onUpsert: (lease) => this.#observe(lease),
        onDelete: () => this.#observeAbsence(),
      },
      ...(metrics ? { metrics } : {}),
    }).run();
  }

  /** Waits until there is something to do, however often that changes while it waits. */
  async #untilDue(): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      const delayMs = this.#dueAt() - clock.monotonic();
      if (delayMs <= 0 || this.#stop.signal.aborted) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(delayMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
  }

  #dueAt(): number {
    const { changedAt, takeableAt } = this.#observer;
    if (this.#leadership.term !== undefined || changedAt === undefined) return this.#retryAt;
    const askAt = Math.max(changedAt + SILENCE_MS, this.#lookedAt + this.#retryPeriodMs);
    return Math.max(this.#retryAt, Math.min(takeableAt, askAt));
  }

  /** Renews, takes or looks, whatever is due, and sets when to try again at the earliest. */
  async #attempt(): Promise<void> {
    const { clock, random } = this.#options;
    const { changedAt, takeableAt } = this.#observer;
    let overtaken = true;
    try {
      if (this.#leadership.term !== undefined) overtaken = !(await this.#renew());
      else if (changedAt !== undefined && clock.monotonic() >= takeableAt) overtaken = !(await this.#take());
      else await this.#look();
      this.#failing = undefined;
      this.#retryAt = overtaken ? clock.monotonic() + OVERTAKEN_MS : this.#leadership.renewedAt + this.#retryPeriodMs;
    } catch (err) {
      this.#noteFailure(err);
      this.#retryAt = clock.monotonic() + this.#retryPeriodMs * (0.5 + random() / 2);
    }
  }

  async #look(): Promise<void> {
    const askedAt = this.#options.clock.monotonic();
    this.#lookedAt = askedAt;
    const lease = await this.#store.get();
    if (lease) this.#observe(lease, askedAt);
    else this.#observeAbsence();
  }

  /** Whether the Lease is ours now. */
  async #take(): Promise<boolean> {
    const { clock } = this.#options;
    const lease = await this.#existing();
    // Another replica may have created and taken it.
    if (clock.monotonic() < this.#observer.takeableAt) return false;
    const startedAt = momentOf(clock);
    const term = this.#observer.termMax + 1;
    const taken = await this.#replace(acquired(lease, this.#candidate, term, this.#time()));
    if (taken && !this.#stop.signal.aborted) this.#leadership.start(term, startedAt);
    return taken;
  }

  async #renew(): Promise<boolean> {
    // The second try is for a record that another client touched, or deleted, without taking it.
    for (let tries = 0; tries < 2; tries += 1) {
      const lease = await this.#existing();
      const { term } = this.#leadership;
      this.#leadership.check();
      if (term === undefined || !this.isLeading()) return false;
      const startedAt = momentOf(this.#options.clock);
      if (await this.#replace(renewed(lease, this.#candidate, term, this.#time()), this.remainingMs())) {
        this.#leadership.extend(startedAt);
        return true;
      }
    }
    return false;
  }

  async #existing(): Promise<Lease> {
    const { lease } = this.#observer;
    if (lease) return lease;
    const askedAt = this.#options.clock.monotonic();
    const created = await this.#store.create();
    this.#observe(created, askedAt);
    return created;
  }

  /** Whether `record` was written and is the last word; if not, what is there now has been looked at. */
  async #replace(record: Lease, timeoutMs?: number): Promise<boolean> {
    const askedAt = this.#options.clock.monotonic();
    const written = await this.#store.replace(record, timeoutMs);
    if (written) this.#observe(written, askedAt);
    else await this.#look();
    return written !== undefined && this.#isOurs();
  }

  async #free(): Promise<void> {
    for (;;) {
      // Asked for, not remembered: a renewal whose answer never came may have been done.
      const lease = await this.#store.get(STOP_STEP_MS);
      if (lease?.spec?.holderIdentity !== this.#candidate.identity) return;
      if (await this.#store.replace(released(lease, this.#time()), STOP_STEP_MS)) {
        return this.#options.logger.info('Freed the Lease');
      }
    }
  }

  #end(): void {
    if (this.#stop.signal.aborted) return;
    this.#leadership.end('the program stops');
    this.#stop.abort();
    this.#wake();
  }

  #observe(lease: Lease, askedAt?: number): void {
    if (!this.#observer.observe(lease, this.#options.clock.monotonic(), askedAt)) return;
    if (!this.#isOurs()) this.#answerIntrusion(lease);
    this.#news.take(lease);
    this.#wake();
  }

  #observeAbsence(): void {
    const now = this.#options.clock.monotonic();
    this.#observer.observeAbsence(now);
    if (this.#leadership.term !== undefined) this.#retryAt = now;
    this.#wake();
  }

  /** Called when the record does not name us. If we lead, another client wrote it meanwhile. */
  #answerIntrusion(lease: Lease): void {
    if (this.#leadership.term === undefined) return;
    // A person deleted it, or took our name out: no replica may take it before our time is up, so that it is still
    // ours.
    if (isWithoutHolder(lease)) this.#retryAt = this.#options.clock.monotonic();
    else this.#leadership.end('another replica holds the Lease');
  }

  #isOurs(): boolean {
    return this.#observer.lease?.spec?.holderIdentity === this.#candidate.identity;
  }

  #noteFailure(err: unknown): void {
    const { kind } = classifyFailure(err, 'leases');
    if (this.#failing === kind || this.#stop.signal.aborted) return;
    this.#failing = kind;
    const { namespace, name } = this.#store.ref;
    const hint = 'RBAC must permit get, list, watch, create, update and patch on this Lease by name';
    this.#options.logger.warn({ err, lease: `${namespace}/${name}`, hint }, 'Failed to read or write the Lease');
  }

  #time(): string {
    this.#writes += 1;
    return microTime(this.#options.clock.now(), this.#writes);
  }

  /** Whether `promise` settled in time. */
  #settles(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(limitMs, () => resolve(false));
      const settled = () => {
        cancel();
        resolve(true);
      };
      promise.then(settled, settled);
    });
  }
}
