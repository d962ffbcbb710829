import { randomUUID } from 'node:crypto';
import { Backoff } from '@rollcall/common/backoff.ts';
import { contentDigest } from '@rollcall/common/digest.ts';
import { PROTOCOL_VERSION, type ReportContent } from '@rollcall/common/report.ts';
import { REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { ReportClient } from './report-client.ts';

/** Both as the agent itself does it. */
const HEARTBEAT_JITTER = 0.05;
const RETRY = { baseMs: 400, maxMs: 10_000, random: Math.random };

const DEVICES: ReportContent['devices'] = [
  { bus: 'pci', attributes: { class: '030200', vendor: '10de', device: '20b2', subsystem: '1463' } },
  { bus: 'pci', attributes: { class: '020000', vendor: '15b3', device: '101d' } },
  { bus: 'usb', attributes: { class: 'ff', vendor: '1a6e', device: '089a' } },
];

export type AgentOptions = {
  node: string;
  token: string;
  client: ReportClient;
  /** Called with every report that was accepted, and when it was sent, in monotonic milliseconds. */
  onTaken: (full: boolean, sentMs: number) => void;
};

/** What one agent does on the wire, without probes and without a process of its own. */
export class FleetAgent {
  readonly #options: AgentOptions;
  #boot = randomUUID();
  #sequence = 0;
  #token: string;
  /** By how much its clock is wrong. */
  clockOffsetMs = 0;
  /** What the coordinator wants to know of. */
  #services: readonly string[] = [REGISTRY_FACADE, WS_DAEMON];
  /** Of the checks that the coordinator assigned, by service. */
  #checks: ReadonlyMap<string, string> = new Map();
  #notReady: ReadonlySet<string> = new Set();
  #version: string | undefined;
  #content: ReportContent;
  #digest: string;
  #servicesDigest: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** What was begun before it was last changed is not gone on with. */
  #era = 0;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#token = options.token;
    this.#content = contentOf(this.#checks, this.#notReady);
    this.#digest = contentDigest(this.#content);
  }

  /** What the probes of all services are to say from the next report on, or of these, of an agent of this version. */
  see(ready: boolean, version?: string, services: readonly string[] = this.#services): void {
    this.#notReady = new Set(ready ? [] : services);
    this.#version = version;
    this.#look();
  }

  /** The kubelet has brought another token. */
  renew(token: string): void {
    this.#token = token;
  }

  /** Dies, and starts anew: what it reports is of another boot. */
  restart(): Promise<void> {
    this.#boot = randomUUID();
    this.#sequence = 0;
    return this.report();
  }

  #look(): void {
    const version = this.#version === undefined ? {} : { version: this.#version };
    const since = new Date(Date.now() + this.clockOffsetMs).toISOString();
    this.#content = { ...contentOf(this.#checks, this.#notReady, since), ...version };
    this.#digest = contentDigest(this.#content);
  }

  /** Whether the coordinator assigns other checks than before. */
  #isToldAnew(services: readonly { name: string; digest: string }[] | undefined): boolean {
    if (!services) return false;
    this.#services = services.map(({ name }) => name.split('/')[0] ?? '');
    this.#checks = new Map(services.map(({ name, digest }) => [name, digest]));
    this.#look();
    return true;
  }

  /** Sends all that it knows, again and again until that is taken, and heartbeats after that. */
  async report(): Promise<void> {
    const era = this.silence();
    const backoff = new Backoff(RETRY);
    while (era === this.#era && !(await this.#send(true, era))) {
      await new Promise((resolve) => setTimeout(resolve, backoff.next()));
    }
  }

  /** Says nothing more until it is told to report. */
  silence(): number {
    clearTimeout(this.#timer);
    this.#era += 1;
    return this.#era;
  }

  /** The body of its next report. */
  message(full: boolean): string {
    this.#sequence += 1;
    const header = {
      protocol: PROTOCOL_VERSION,
      node: this.#options.node,
      boot: this.#boot,
      sequence: this.#sequence,
      digest: this.#digest,
      servicesDigest: this.#servicesDigest,
    };
    return JSON.stringify(full ? { ...header, ...this.#content } : header);
  }

  async #send(full: boolean, era: number): Promise<boolean> {
    const { client, onTaken } = this.#options;
    const sentMs = performance.now();
    const reply = await client.post(this.message(full), this.#token);
    if (!reply) return false;
    onTaken(full, sentMs);
    this.#servicesDigest = reply.servicesDigest ?? this.#servicesDigest;
    if (era !== this.#era) return true;
    if (this.#isToldAnew(reply.services) || (reply.full && !full)) return this.#send(true, era);
    const delayMs = reply.nextReportSeconds * 1000 * (1 - HEARTBEAT_JITTER * Math.random());
    this.#timer = setTimeout(() => void this.#heartbeat(era), delayMs);
    return true;
  }

  /** One that is not taken is an agent's first sign that the leader is another, or is gone. */
  async #heartbeat(era: number): Promise<void> {
    const taken = await this.#send(false, era);
    if (!taken && era === this.#era) await this.report();
  }
}

/** `checks`: digests of the assigned checks, by name. `notReady`: services. */
export function contentOf(
  checks: ReadonlyMap<string, string>,
  notReady: ReadonlySet<string>,
  since = new Date().toISOString(),
): ReportContent {
  const services = [...checks].map(([name, digest]) => {
    // A check of a NodeService is named SERVICE/CHECK.
    const ready = !notReady.has(name.split('/')[0] ?? '');
    return { name, ready, since, evidence: ready ? 'The service answered' : 'Connection refused', digest };
  });
  return { services, devices: DEVICES, facts: { 'cpu.model': 'A processor of the fleet', 'cpu.count': '16' } };
}
