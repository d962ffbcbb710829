import { CodedError } from '@rollcall/common/coded-error.ts';
import type { CoordinatorClient } from './coordinator-client.ts';
import { Endpoints } from './endpoints.ts';
import type { Reply } from './reply.ts';
import { type DigestedContent, fullReport, heartbeat } from './report-builder.ts';

export type ReportSenderOptions = {
  node: string;
  /** New at every start. */
  boot: string;
  /** Not empty. */
  urls: readonly string[];
  client: Pick<CoordinatorClient, 'deliver'>;
};

export type SendOptions = { leaving: boolean; timeoutMs: number; signal: AbortSignal };

/** `contentWanted`: a heartbeat was taken, but the coordinator does not know the content that it stands for. */
export type Sent = { origin: string; reply: Reply; contentWanted: boolean };

/** Knows to whom the next report goes, and how much of it that coordinator has yet to hear. */
export class ReportSender {
  readonly #options: ReportSenderOptions;
  readonly #endpoints: Endpoints;
  #sequence = 0;
  #known: { origin: string; digest: string } | undefined;
  #introduced = false;
  #exhausted = true;

  constructor(options: ReportSenderOptions) {
    this.#options = options;
    this.#endpoints = new Endpoints(options.urls);
  }

  /** Whether any coordinator ever took a report of this agent. */
  get introduced(): boolean {
    return this.#introduced;
  }

  /** Whether, after a report that failed, everybody known has been tried: then it is time to wait. */
  get exhausted(): boolean {
    return this.#exhausted;
  }

  /** Throws what the client throws. */
  async send(report: DigestedContent, { leaving, timeoutMs, signal }: SendOptions): Promise<Sent> {
    const { node, boot, client } = this.#options;
    let full = true;
    const render = (origin: string) => {
      full = this.#known?.origin !== origin || this.#known.digest !== report.digest;
      this.#sequence += 1;
      const identity = { node, boot, sequence: this.#sequence, leaving };
      return JSON.stringify(full ? fullReport(identity, report) : heartbeat(identity, report));
    };
    try {
      const { origin, reply } = await client.deliver(this.#endpoints.current, render, timeoutMs, signal);
      this.#endpoints.accepted(origin);
      this.#introduced = true;
      this.#known = reply.full ? undefined : { origin, digest: report.digest };
      return { origin, reply, contentWanted: reply.full && !full };
    } catch (error) {
      if (!signal.aborted) this.#exhausted = isThrottled(error) || this.#endpoints.failed();
      throw error;
    }
  }
}

/** Whether the coordinator is well and only wants to be left alone for a while (429). */
export function isThrottled(error: unknown): boolean {
  return error instanceof CodedError && error.fields['status'] === 429;
}
