import { Counter, Gauge, Histogram, type Registry } from '@rollcall/common/metrics.ts';
import type { ClosedReason } from '../tls/connection-limiter.ts';
import type { ReviewResult } from './bearer-auth.ts';
import type { Signature } from './signing-keys.ts';

/** The result of a request to the reports' endpoint: how a report was taken, or the status of the refusal. */
export type ReportResult = 'full' | 'heartbeat' | 'leaving' | 'ignored' | 'redirected' | 'aborted' | `${number}`;

export class IngestMetrics {
  readonly #reports: Counter<'result'>;
  readonly #duration: Histogram;
  readonly #reviews: Counter<'result'>;
  readonly #verifications: Counter<'result'>;
  readonly #connections: Gauge;
  readonly #shut: Counter<'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#reports = new Counter({
      name: 'rollcall_coordinator_reports_total',
      help: 'Requests to the endpoint for reports, by the kind of the accepted report or the status code of the refusal.',
      labelNames: ['result'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'rollcall_coordinator_report_duration_seconds',
      help: 'Time from the headers of a request to its answer, in seconds.',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
    this.#reviews = new Counter({
      name: 'rollcall_coordinator_token_reviews_total',
      help: 'TokenReviews to authenticate reports, by result.',
      labelNames: ['result'],
      registers,
    });
    this.#verifications = new Counter({
      name: 'rollcall_coordinator_token_verifications_total',
      help: 'Tokens whose signature was checked with the keys of the API server, by result; a token with an unknown key needs a TokenReview.',
      labelNames: ['result'],
      registers,
    });
    this.#connections = new Gauge({
      name: 'rollcall_coordinator_report_connections',
      help: 'Open connections to the listener for reports.',
      registers,
    });
    this.#shut = new Counter({
      name: 'rollcall_coordinator_report_connections_closed_total',
      help: 'Connections to the listener for reports that the coordinator closed, by reason: no request, no token, or no free place.',
      labelNames: ['reason'],
      registers,
    });
  }

  answered(result: ReportResult, seconds: number): void {
    this.#reports.inc({ result });
    this.#duration.observe(seconds);
  }

  /** A request that never became one, such as bytes that are not HTTP. */
  unreadable(status: number): void {
    this.#reports.inc({ result: String(status) });
  }

  readonly reviewed = (result: ReviewResult): void => {
    this.#reviews.inc({ result });
  };

  verified(result: Signature): void {
    this.#verifications.inc({ result });
  }

  connectionOpened(): void {
    this.#connections.inc();
  }

  connectionShut(reason: ClosedReason): void {
    this.#shut.inc({ reason });
  }

  connectionClosed(): void {
    this.#connections.dec();
  }
}
