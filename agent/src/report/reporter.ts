import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { ReportContent } from '@rollcall/common/report.ts';
import { DeliveryLog } from './delivery-log.ts';
import type { ReportMetrics } from './metrics.ts';
import type { Reply } from './reply.ts';
import { type DigestedContent, digestContent } from './report-builder.ts';
import { isThrottled, type ReportSender, type Sent } from './report-sender.ts';
import { Schedule } from './schedule.ts';

/** How long one report may take, redirects included. */
const DELIVERY_TIMEOUT_MS = 5000;
/** How long the last report may take: stopping does not wait for a coordinator that is away. */
const LEAVING_TIMEOUT_MS = 1500;
/** The leader that is gone, who knows its successor, and once more because that one asks for the content. */
const LEAVING_ATTEMPTS_MAX = 3;
/** After an unexpected error, which may come again at once. */
const ERROR_PAUSE_MS = 1000;
/** The loop comes round this often even when nothing is due, which is what its watchdog sees. */
const IDLE_ROUND_MS_MAX = 5000;

export type ReporterOptions = {
  sender: Pick<ReportSender, 'send' | 'introduced' | 'exhausted'>;
  /** Seconds between reports until the coordinator names another interval. */
  heartbeatSeconds: number;
  /** What there is to report now; `undefined` until the agent has looked at everything once. */
  content: () => ReportContent | undefined;
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
    const content = this.#options.content();
    if (content && this.#options.sender.introduced) await this.#leave(digestContent(content));
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
    const content = this.#options.content();
    if (!content) return Number.POSITIVE_INFINITY;
    const report = digestContent(content);
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
