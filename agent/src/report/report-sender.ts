import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import { PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import type { CoordinatorClient } from './coordinator-client.ts';
import { originOf } from './coordinator-url.ts';
import type { Reply } from './reply.ts';
import { type DigestedContent, fullReport, heartbeat } from './report-builder.ts';

/** Chooses the endpoint of the next report: the known leader, else the configured list in order. */
export class Endpoints {
  readonly #origins: readonly string[];
  #index = 0;
  #leader: string | undefined;
  /** Entries of the list that have failed since one was reached. */
  #failures = 0;

  /** `urls` must not be empty. */
  constructor(urls: readonly string[]) {
    this.#origins = urls.map(originOf);
  }

  get current(): string {
    return this.#leader ?? this.#configured;
  }

  /** A report was taken at `origin`, which stays the first choice until it fails. */
  accepted(origin: string): void {
    this.#leader = origin === this.#configured ? undefined : origin;
    this.#failures = 0;
  }

  /**
   * Forgets a leader that failed and returns to the replica that named it; after that, the list goes on. Returns
   * whether the whole list failed, so that no replica is left to try at once.
   */
  failed(): boolean {
    if (this.#leader !== undefined) {
      this.#leader = undefined;
      return false;
    }
    this.#index = (this.#index + 1) % this.#origins.length;
    this.#failures = (this.#failures + 1) % this.#origins.length;
    return this.#failures === 0;
  }

  get #configured(): string {
    return this.#origins[this.#index] ?? '';
  }
}

export type ReportSenderOptions = {
  node: string;
  /** An id for each session, such as no other session has. */
  newBoot: () => string;
  /** Of the list of services that the agent probes. */
  servicesDigest: () => string | undefined;
  /** Not empty. */
  urls: readonly string[];
  client: Pick<CoordinatorClient, 'deliver'>;
  clock: Clock;
};

/** Between two new sessions: two agents of one pod would end each other's without end. */
const SESSION_MS_MIN = 2000;

export type SendOptions = { leaving: boolean; timeoutMs: number; signal: AbortSignal };

/**
 * `contentWanted`: the coordinator answered, and wants the content at once: it does not know what a heartbeat stands for,
 * or a new session began. `isNewSession`: the latter.
 */
export type Sent = { origin: string; reply: Reply; contentWanted: boolean; isNewSession: boolean };

/** Knows to whom the next report goes, and how much of it that coordinator has yet to hear. */
export class ReportSender {
  readonly #options: ReportSenderOptions;
  readonly #endpoints: Endpoints;
  #session: { boot: string; sequence: number };
  #sessionSinceMs = Number.NEGATIVE_INFINITY;
  #known: { origin: string; digest: string } | undefined;
  #introduced = false;
  #exhausted = true;

  constructor(options: ReportSenderOptions) {
    this.#options = options;
    this.#endpoints = new Endpoints(options.urls);
    this.#session = { boot: options.newBoot(), sequence: 0 };
  }

  /** Whether any coordinator ever took a report of this agent. */
  get introduced(): boolean {
    return this.#introduced;
  }

  /** Whether every known endpoint was tried after a report that failed: then it is time to wait. */
  get exhausted(): boolean {
    return this.#exhausted;
  }

  /** Throws what the client throws. */
  async send(report: DigestedContent, { leaving, timeoutMs, signal }: SendOptions): Promise<Sent> {
    const { node, servicesDigest, client } = this.#options;
    let full = true;
    const render = (origin: string) => {
      full = this.#known?.origin !== origin || this.#known.digest !== report.digest;
      this.#session.sequence += 1;
      const identity = { node, ...this.#session, servicesDigest: servicesDigest(), leaving };
      const sent = full ? fullReport(identity, report) : heartbeat(identity, report);
      return JSON.stringify({ protocol: PROTOCOL_VERSION, ...sent });
    };
    try {
      const { origin, reply } = await client.deliver(this.#endpoints.current, render, timeoutMs, signal);
      this.#endpoints.accepted(origin);
      this.#introduced = true;
      this.#known = reply.full || reply.newSession ? undefined : { origin, digest: report.digest };
      const isNewSession = reply.newSession === true && this.#beginSession(leaving);
      return { origin, reply, contentWanted: isNewSession || (reply.full && !full), isNewSession };
    } catch (error) {
      if (!signal.aborted) this.#exhausted = isThrottled(error) || this.#endpoints.failed();
      throw error;
    }
  }

  /**
   * Begins a new session, since another client may know the id of the last one. Returns `false` where the last session
   * began a moment ago, except while the agent leaves: it sends only a few more reports.
   */
  #beginSession(leaving: boolean): boolean {
    const { clock, newBoot } = this.#options;
    const nowMs = clock.monotonic();
    if (!leaving && nowMs - this.#sessionSinceMs < SESSION_MS_MIN) return false;
    this.#sessionSinceMs = nowMs;
    this.#session = { boot: newBoot(), sequence: 0 };
    return true;
  }
}

/** Whether the coordinator is well and only wants to be left alone for a while (429). */
export function isThrottled(error: unknown): boolean {
  return error instanceof CodedError && error.fields['status'] === 429;
}
