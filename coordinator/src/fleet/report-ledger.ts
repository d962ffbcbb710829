import type { DeviceReport, FullReport, Heartbeat, ReportContent } from '@rollcall/common/report.ts';

/** Who sent a report, as the API server vouches for it. */
export type ReportIdentity = {
  node: string;
  nodeUid: string;
  /** Seconds since the epoch; when the token was issued. Absent when the token does not say. */
  issuedAtSeconds?: number;
};

/**
 * What became of a report. `ignored`: it is old, or of an agent that another has taken over from.
 * `unknown-digest`: a heartbeat for content that is not here; the agent is alive, but must send it in full.
 */
export type Admission = 'content' | 'heartbeat' | 'leaving' | 'unknown-digest' | 'ignored';

type NodeRecord = {
  nodeUid: string;
  boot: string;
  sequence: number;
  digest: string | undefined;
  content: ReportContent | undefined;
  leaving: boolean;
  issuedAtSeconds: number;
  /** Boots that were taken over from, latest last. */
  superseded: readonly string[];
};

/** Two agents overlap in a rolling update; eight generations within one coordinator's memory are plenty. */
const SUPERSEDED_MAX = 8;
/** Characters of what describes a device; what is longer is hardly the same elsewhere. */
const COMMON_DEVICE_MAX = 500;
/** Characters of all of them; then the memory of devices that are alike is begun anew. */
const COMMON_DEVICES_MAX = 4_000_000;

/** What is as it was, is the very same: others hold on to it, and compare by it. */
function kept<T>(before: T | undefined, now: T): T {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(now) ? before : now;
}

/**
 * The latest report of each node. Agents restart, and two of them overlap in a rolling update, so that reports of
 * different boots arrive mixed. A boot that was taken over from is never accepted again; between two that are new here
 * the one with the later token wins.
 */
export class ReportLedger {
  readonly #records = new Map<string, NodeRecord>();
  /** The machines of a fleet are much alike: a device that many of them have is kept once. */
  readonly #devices = new Map<string, DeviceReport>();
  #devicesLength = 0;

  /** `currentIsSilent` says that the agent that counts has not been heard for long: then any newcomer may replace it. */
  admit(report: FullReport | Heartbeat, identity: ReportIdentity, currentIsSilent: boolean): Admission {
    const found = this.#records.get(report.node);
    const current = found?.nodeUid === identity.nodeUid ? found : undefined;
    const issuedAtSeconds = identity.issuedAtSeconds ?? 0;
    if (current && current.boot === report.boot) {
      if (report.sequence <= current.sequence) return 'ignored';
    } else if (current) {
      if (current.superseded.includes(report.boot)) return 'ignored';
      const currentHolds = !current.leaving && !currentIsSilent;
      if (currentHolds && issuedAtSeconds < current.issuedAtSeconds) return 'ignored';
    }
    const record = this.#succeed(current, report, identity.nodeUid, issuedAtSeconds);
    this.#records.set(report.node, record);
    if ('services' in report) {
      const { services, devices, unread = [], facts } = report;
      const before = record.content;
      record.content = {
        services: kept(before?.services, services),
        devices: kept(
          before?.devices,
          devices.map((device) => this.#intern(device)),
        ),
        unread: kept(before?.unread, unread),
        facts: kept(before?.facts, facts),
      };
      record.digest = report.digest;
      return report.leaving ? 'leaving' : 'content';
    }
    if (record.digest !== report.digest) return 'unknown-digest';
    return report.leaving ? 'leaving' : 'heartbeat';
  }

  #succeed(
    current: NodeRecord | undefined,
    report: FullReport | Heartbeat,
    nodeUid: string,
    issuedAtSeconds: number,
  ): NodeRecord {
    const leaving = report.leaving === true;
    if (current && current.boot === report.boot) {
      const issued = Math.max(issuedAtSeconds, current.issuedAtSeconds);
      return Object.assign(current, { sequence: report.sequence, leaving, issuedAtSeconds: issued });
    }
    // What the predecessor saw stays true until the newcomer has said what it sees.
    const superseded = current ? [...current.superseded, current.boot].slice(-SUPERSEDED_MAX) : [];
    return {
      nodeUid,
      boot: report.boot,
      sequence: report.sequence,
      digest: undefined,
      content: current?.content,
      leaving,
      issuedAtSeconds,
      superseded,
    };
  }

  #intern(device: DeviceReport): DeviceReport {
    const text = JSON.stringify(device);
    if (text.length > COMMON_DEVICE_MAX) return device;
    const known = this.#devices.get(text);
    if (known) return known;
    this.#devicesLength += text.length;
    if (this.#devicesLength > COMMON_DEVICES_MAX) {
      this.#devices.clear();
      this.#devicesLength = text.length;
    }
    this.#devices.set(text, device);
    return device;
  }

  /** Parts of it that a later report repeats are the very same objects then. */
  content(node: string): ReportContent | undefined {
    return this.#records.get(node)?.content;
  }

  forget(node: string): void {
    this.#records.delete(node);
  }

  clear(): void {
    this.#records.clear();
  }
}
