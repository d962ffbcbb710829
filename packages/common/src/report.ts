/** The wire between agent and coordinator: what is posted to /v1/reports, and what comes back. */

/** What the agent says about one service of its node. */
export type ServiceReport = {
  name: string;
  ready: boolean;
  /** RFC 3339; when `ready` took its present value, by the agent's clock. */
  since: string;
  /** One sentence for people: which probe saw what. Changes only when what was seen changes. */
  evidence: string;
};

export type DeviceBus = 'usb' | 'pci' | 'device-tree';

/** What an agent looks at of its machine. */
export type Unread = DeviceBus | 'facts';

/** One device as its bus describes it, attributes in the kernel's own words (class, vendor, device, …). */
export type DeviceReport = {
  bus: DeviceBus;
  attributes: Record<string, string>;
};

export type ReportContent = {
  services: ServiceReport[];
  devices: DeviceReport[];
  /** What is there and could not be read, or was not yet: nothing is known of it. Absent when there is none. */
  unread?: Unread[];
  /** Facts about the machine, such as its CPU model. */
  facts: Record<string, string>;
};

export type ReportHeader = {
  /** Name of the Node. */
  node: string;
  /** Random, new at every start of the agent. */
  boot: string;
  /** Grows with every report of a boot. */
  sequence: number;
  /** SHA-256, in hex, of the canonical JSON of the content. */
  digest: string;
  /** The last report of an agent that was asked to stop. */
  leaving?: boolean;
};

/** Says "as before": the coordinator knows the content by its digest. */
export type Heartbeat = ReportHeader;

export type FullReport = ReportHeader & ReportContent;

/** Where the agent should probe a service, from the pods that the coordinator watches. */
export type ProbeTarget = { host: string; port: number };

export type ReportReply = {
  /** Seconds until the next heartbeat; the coordinator stretches it with the size of the fleet. */
  nextReportSeconds: number;
  /** The digest was not known: send the content. */
  full?: boolean;
  /** By service name. A service that is absent is probed at the agent's own defaults. */
  targets?: Record<string, ProbeTarget>;
};
