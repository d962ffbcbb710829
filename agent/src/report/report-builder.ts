import { contentDigest } from '@rollcall/common/digest.ts';
import type {
  DeviceReport,
  FullReport,
  Heartbeat,
  ReportContent,
  ReportHeader,
  ServiceReport,
  Unread,
} from '@rollcall/common/report.ts';
import type { ReportedState } from '../probes/types.ts';

/** What the agent knows of its node at one moment. */
export type Observations = {
  services: readonly ReportedState[];
  devices: readonly DeviceReport[];
  unread: readonly Unread[];
  facts: Readonly<Record<string, string>>;
  answers: Readonly<Record<string, boolean>>;
  values: Readonly<Record<string, string>>;
};

/** Services come out sorted by name, so that the order in which probes answer does not show in the digest. */
export function buildContent(observations: Observations, version: string): ReportContent {
  const { services, devices, unread, facts, answers, values } = observations;
  return {
    services: fitting(services.map(toServiceReport).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))),
    devices: [...devices],
    ...(unread.length > 0 ? { unread: [...unread] } : {}),
    facts: { ...facts },
    ...(Object.keys(answers).length > 0 ? { answers: { ...answers } } : {}),
    ...(Object.keys(values).length > 0 ? { values: { ...values } } : {}),
    version,
  };
}

function toServiceReport({ sinceMs, ...state }: ReportedState): ServiceReport {
  return { ...state, since: new Date(sinceMs).toISOString() };
}

/** Of the body of a report, of which devices may have half; in bytes of JSON. */
const SERVICES_BYTES_MAX = 96 * 1024;

/** What services say together must not cost the node its report: where it is too much, each has the same part of it. */
function fitting(services: ServiceReport[]): ServiceReport[] {
  if (bytesOf(services) <= SERVICES_BYTES_MAX) return services;
  const named = bytesOf(services.map((service) => ({ ...service, evidence: '' })));
  const most = Math.max(0, Math.floor((SERVICES_BYTES_MAX - named) / services.length));
  return services.map((service) => ({ ...service, evidence: shortened(service.evidence, most) }));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The beginning of a text that takes so many bytes within JSON. */
function shortened(text: string, bytesMax: number): string {
  let bytes = 0;
  let length = 0;
  for (const char of text) {
    bytes += bytesOf(char) - 2;
    if (bytes > bytesMax) break;
    length += char.length;
  }
  // A report without evidence is refused.
  return text.slice(0, Math.max(1, length));
}

/** Remembers the content that was built last, for as long as what it is built from stays the same objects. */
export class ContentBuilder {
  readonly #version: string;
  #parts: readonly unknown[] = [];
  #last: DigestedContent | undefined;

  constructor(version: string) {
    this.#version = version;
  }

  build(observations: Observations): DigestedContent {
    const { services, devices, unread, facts, answers, values } = observations;
    const parts = [devices, facts, answers, values, ...unread, ...services];
    const isSame = parts.length === this.#parts.length && parts.every((part, index) => part === this.#parts[index]);
    if (!this.#last || !isSame) this.#last = digestContent(buildContent(observations, this.#version));
    this.#parts = parts;
    return this.#last;
  }
}

/** The content with its digest: computed once, compared often. */
export type DigestedContent = { content: ReportContent; digest: string };

export function digestContent(content: ReportContent): DigestedContent {
  return { content, digest: contentDigest(content) };
}

export type ReportIdentity = Pick<ReportHeader, 'node' | 'boot' | 'sequence'> & {
  servicesDigest: string | undefined;
  leaving: boolean;
};

export function fullReport(identity: ReportIdentity, { content, digest }: DigestedContent): FullReport {
  return { ...header(identity, digest), ...content };
}

/** The same without content, for a coordinator that knows it by its digest. */
export function heartbeat(identity: ReportIdentity, { digest }: DigestedContent): Heartbeat {
  return header(identity, digest);
}

function header({ servicesDigest, leaving, ...identity }: ReportIdentity, digest: string): ReportHeader {
  return {
    ...identity,
    digest,
    ...(servicesDigest === undefined ? {} : { servicesDigest }),
    ...(leaving ? { leaving } : {}),
  };
}
