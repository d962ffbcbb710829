import type { FullReport, Heartbeat, ReportContent, ReportReply, ServiceList } from '@rollcall/common/report.ts';
import type { ObservedPod } from '@rollcall/coordinator/state/observed-pod.ts';
import type { AgentIdentity } from './system.ts';

/** Takes a report to whoever leads; `undefined` when it got no answer. */
export type Deliver = (report: FullReport | Heartbeat, identity: AgentIdentity) => ReportReply | undefined;

const RETRY_MS = 1000;

/** One agent process: reports what it sees at once, says "as before" in between, and tries again when no coordinator answers. */
export class ModelAgent {
  readonly pod: ObservedPod;
  readonly boot: string;
  readonly version: string | undefined;
  readonly #identity: AgentIdentity;
  readonly #deliver: Deliver;
  #sequence = 0;
  #dueMs = 0;
  /** What was sent in full, and answered. */
  #told: string | undefined;
  #list: ServiceList = { services: [], servicesDigest: '' };
  /** `servicesDigest` of the list by which it reported last. */
  reportedList = '';

  constructor(
    pod: ObservedPod,
    { boot, version }: { boot: string; version: string | undefined },
    identity: AgentIdentity,
    deliver: Deliver,
  ) {
    this.pod = pod;
    this.boot = boot;
    this.version = version;
    this.#identity = identity;
    this.#deliver = deliver;
  }

  /** What it is told to probe. */
  get list(): ServiceList['services'] {
    return this.#list.services;
  }

  /** Reports if there is news, or if it is time. */
  look(content: ReportContent, digest: string, nowMs: number): void {
    if (digest !== this.#told || nowMs >= this.#dueMs) this.#report(content, digest, nowMs);
  }

  sayGoodbye(content: ReportContent, digest: string): void {
    this.#send({ ...this.#header(digest), ...content, leaving: true });
  }

  #report(content: ReportContent, digest: string, nowMs: number): void {
    const full = digest !== this.#told;
    const { servicesDigest } = this.#list;
    let reply = this.#send({ ...this.#header(digest), ...(full ? content : {}) });
    if (reply?.full) reply = this.#send({ ...this.#header(digest), ...content });
    if (reply) this.reportedList = servicesDigest;
    this.#told = reply ? digest : undefined;
    this.#dueMs = nowMs + (reply ? reply.nextReportSeconds * 1000 : RETRY_MS);
  }

  #header(digest: string): Heartbeat {
    this.#sequence += 1;
    const { servicesDigest } = this.#list;
    return { node: this.#identity.node, boot: this.boot, sequence: this.#sequence, digest, servicesDigest };
  }

  #send(report: FullReport | Heartbeat): ReportReply | undefined {
    const reply = this.#deliver(report, this.#identity);
    const { services, servicesDigest } = reply ?? {};
    if (services && servicesDigest !== undefined) this.#list = { services, servicesDigest };
    return reply;
  }
}
