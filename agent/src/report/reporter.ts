import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { CodedError, describeError, hasCode } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { ReportMetrics } from './metrics.ts';
import { NEXT_REPORT_SECONDS_MAX, NEXT_REPORT_SECONDS_MIN, type Reply } from './reply.ts';
import type { DigestedContent } from './report-builder.ts';
import { isThrottled, type ReportSender, type Sent } from './report-sender.ts';

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
   * While another coordinator is left to try, that happens at once. After that it waits: as long as a coordinator asked
   * for (`retryAfterMs`, which holds for news as well), or with backoff, but never much longer than the interval
   * between reports, after a few of which a silent node is given up.
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

/**
 * Says once what is wrong, and once that it is over. While an outage lasts, the same cause comes back with every
 * attempt, and with two coordinators two causes come back in turns; therefore the last one of each is remembered, and
 * the last one of what has nothing to do with a coordinator.
 */
export class DeliveryLog {
  readonly #logger: Logger;
  readonly #causes = new Map<string, string>();
  #acceptedBefore = false;
  #error: string | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  accepted(coordinator: string): void {
    if (!this.#acceptedBefore) this.#logger.info({ coordinator }, 'Delivered the first report');
    else if (this.#causes.size > 0) this.#logger.info({ coordinator }, 'Delivered reports again');
    this.#acceptedBefore = true;
    this.#causes.clear();
  }

  /** An error that no part of this program foresaw. */
  unexpected(err: unknown, message: string): void {
    const error = `${message}: ${describeError(err)}`;
    if (this.#error === error) return;
    this.#error = error;
    this.#logger.error({ err }, message);
  }

  failed(err: unknown): void {
    const about = String(err instanceof CodedError ? err.fields['coordinator'] : undefined);
    const cause = describeError(err);
    if (this.#causes.get(about) === cause) return;
    this.#causes.set(about, cause);
    const refused = hasCode(err, 'COORDINATOR_REFUSED');
    this.#logger.warn({ err }, refused ? 'Had a report refused' : 'Could not deliver a report');
  }
}

/** How long one report may take, redirects included. */
const DELIVERY_TIMEOUT_MS = 5000;
/** How long the last report may take: stopping does not wait for a coordinator that is away. */
const LEAVING_TIMEOUT_MS = 1500;
/** The leader that is gone, who knows its successor, and once more because that one asks for the content. */
const LEAVING_ATTEMPTS_MAX = 3;
/** After an unexpected error, which may come again at once. */
const ERROR_PAUSE_MS = 1000;
/** The loop comes round this often even when nothing is due, which is what its watchdog sees. */
const IDLE_ROUND_MS_MAX = 15_000;

export type ReporterOptions = {
  sender: Pick<ReportSender, 'send' | 'introduced' | 'exhausted'>;
  /** Seconds between reports until the coordinator names another interval. */
  heartbeatSeconds: number;
  /** What there is to report now; `undefined` until the agent has looked at everything once. */
  content: () => DigestedContent | undefined;
  /** Called with every reply to a report that was taken. */
  onReply: (reply: Reply) => void;
  /** Called each time the loop comes round without an unexpected error, every few seconds. */
  onRound: () => void;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  logger: Logger;
  metrics: ReportMetrics;
  /** Ends the loop. */
  signal: AbortSignal;
};

/** Keeps the coordinator informed: the latest state only, at once when it changes, and every now and then otherwise. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #schedule: Schedule;
  readonly #log: DeliveryLog;
  #loop: Promise<void> | undefined;
  #wake = new AbortController();
  /** Digest of what was last sent, whether it arrived or not. */
  #attempted: string | undefined;
  /** Something changed that does not wait for the next heartbeat. */
  #hasNews = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#schedule = new Schedule(options);
    this.#log = new DeliveryLog(options.logger);
  }

  /** Call it once. */
  start(): void {
    this.#options.signal.addEventListener('abort', () => this.#wake.abort(), { once: true });
    this.#loop = this.#run();
  }

  /**
   * The content may have changed in what does not wait for the next heartbeat. What changes within one tick goes out in
   * one report. Other changes need no call.
   */
  changed(): void {
    this.#hasNews = true;
    const wake = this.#wake;
    this.#options.clock.after(0, () => wake.abort());
  }

  /** Says goodbye to the coordinator if it knows this agent. To be called after the signal has aborted. */
  async stop(): Promise<void> {
    await this.#loop;
    const report = this.#options.content();
    if (report && this.#options.sender.introduced) await this.#leave(report);
  }

  async #run(): Promise<void> {
    const { signal, clock } = this.#options;
    while (!signal.aborted) {
      // Made anew before the content is looked at, so that no change falls between looking and sleeping.
      this.#wake = new AbortController();
      const waitMs = await this.#round();
      if (waitMs > 0) await sleep(clock, Math.min(waitMs, IDLE_ROUND_MS_MAX), this.#wake.signal);
    }
  }

  /** One unexpected error does not end the agent. Where each round has one, the watchdog asks for a restart. */
  async #round(): Promise<number> {
    const { onRound, metrics } = this.#options;
    try {
      const waitMs = await this.#reportWhenDue();
      onRound();
      return waitMs;
    } catch (err) {
      metrics.errors.inc();
      this.#log.unexpected(err, 'Failed to make a report');
      return ERROR_PAUSE_MS;
    }
  }

  /** Returns how long nothing was due, in milliseconds; 0 or less when a report was sent. */
  async #reportWhenDue(): Promise<number> {
    const waitMs = this.#waitMs();
    if (waitMs > 0) return waitMs;
    const report = this.#options.content();
    if (!report) return Number.POSITIVE_INFINITY;
    if (this.#hasNews && report.digest === this.#attempted) {
      // It came back to what it was.
      this.#hasNews = false;
      const untilHeartbeatMs = this.#waitMs();
      if (untilHeartbeatMs > 0) return untilHeartbeatMs;
    }
    await this.#attempt(report);
    return waitMs;
  }

  #waitMs(): number {
    return this.#schedule.dueMs(this.#hasNews) - this.#options.clock.monotonic();
  }

  async #attempt(report: DigestedContent): Promise<void> {
    const { sender, clock, signal } = this.#options;
    const startMs = clock.monotonic();
    this.#attempted = report.digest;
    this.#hasNews = false;
    let sent: Sent;
    try {
      sent = await sender.send(report, { leaving: false, timeoutMs: DELIVERY_TIMEOUT_MS, signal });
    } catch (error) {
      if (!signal.aborted) this.#onFailed(error, startMs);
      return;
    }
    this.#onAccepted(sent, startMs);
  }

  #onAccepted({ origin, reply, contentWanted, isNewSession }: Sent, startMs: number): void {
    const { clock, metrics, logger } = this.#options;
    const nowMs = clock.monotonic();
    metrics.durationSeconds.observe((nowMs - startMs) / 1000);
    metrics.lastAccepted.set(clock.now() / 1000);
    metrics.connected.set(1);
    this.#log.accepted(origin);
    this.#schedule.accepted(nowMs, reply.nextReportSeconds);
    if (contentWanted) this.#schedule.contentWanted(nowMs);
    if (isNewSession) {
      metrics.newSessions.inc();
      logger.warn({ coordinator: origin }, 'The coordinator did not count a report; began a new session');
    }
    this.#take(reply);
  }

  /** What cannot be taken is asked for again: reports go on with the digest of the list that stays. */
  #take(reply: Reply): void {
    const { onReply, metrics } = this.#options;
    try {
      onReply(reply);
    } catch (err) {
      metrics.errors.inc();
      this.#log.unexpected(err, 'Failed to take a reply; the previous list of services stays');
    }
  }

  #onFailed(error: unknown, startMs: number): void {
    const { clock, metrics, sender } = this.#options;
    const asked = error instanceof CodedError ? error.fields['retryAfterMs'] : undefined;
    metrics.connected.set(0);
    const retryAfterMs = typeof asked === 'number' ? asked : 0;
    this.#schedule.failed({ startMs, nowMs: clock.monotonic(), retryAfterMs, exhausted: sender.exhausted });
    this.#log.failed(error);
  }

  async #leave(report: DigestedContent): Promise<void> {
    const { sender, clock, logger } = this.#options;
    const deadlineMs = clock.monotonic() + LEAVING_TIMEOUT_MS;
    const { signal } = new AbortController();
    let err: unknown;
    for (let attempt = 0; attempt < LEAVING_ATTEMPTS_MAX; attempt += 1) {
      const timeoutMs = deadlineMs - clock.monotonic();
      if (timeoutMs <= 0) break;
      try {
        const { contentWanted } = await sender.send(report, { leaving: true, timeoutMs, signal });
        if (!contentWanted) return;
      } catch (error) {
        err = error;
        if (isThrottled(error)) break;
      }
    }
    logger.warn({ err }, 'Could not say goodbye to the coordinator');
  }
}
