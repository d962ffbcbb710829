/** The wire between agent and coordinator: what is posted to /v1/reports, and what comes back. */

/** Every report has it as `protocol`; the coordinator refuses a report of another version. */
export const PROTOCOL_VERSION = 1;

const PROBE_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(\/[a-z0-9]([-a-z0-9]*[a-z0-9])?){0,2}$/;
/** Of a NodeService, its check, and a check within that. */
export const PROBE_NAME_LENGTH_MAX = 253 + 64 + 64;

/** Whether a text can name a probe: SERVICE, SERVICE/CHECK or SERVICE/CHECK/CONTAINED. */
export function isProbeName(text: string): boolean {
  return text.length <= PROBE_NAME_LENGTH_MAX && PROBE_NAME.test(text);
}

/** What the agent says about one probe of its node, by the name that its assignment has. */
export type ServiceReport = {
  name: string;
  ready: boolean;
  /** Nothing is known of it yet: `ready` is false and means nothing, and the coordinator keeps the keys as they are. */
  unknown?: true;
  /** RFC 3339; when `ready` took its present value, by the agent's clock. */
  since: string;
  /** One sentence for people: which probe saw what. Changes only when what was seen changes. */
  evidence: string;
  /** `digest` of the assigned check for which this verdict was made. A verdict without it counts for no check. */
  digest?: string;
};

/** Every bus that there is a collector for in the agent. */
export const DEVICE_BUSES = ['usb', 'pci', 'device-tree'] as const;

export type DeviceBus = (typeof DEVICE_BUSES)[number];

/** What an agent looks at of its machine. */
export type Unread = DeviceBus | 'facts';

/** One device as its bus describes it, attributes in the kernel's own words (class, vendor, device, …), or several alike. */
export type DeviceReport = {
  bus: DeviceBus;
  attributes: Record<string, string>;
  /** How many it stands for; 1 by default. */
  count?: number;
  /** Bound to each of them; absent while none is. Several of one device, one for each interface, have commas in between. */
  driver?: string;
  /** Virtual functions (SR-IOV) of a device that is on the bus as well. */
  virtual?: true;
  /** On the bus, of one single device. Known accelerators have it, and what follows, unless there are very many. */
  address?: string;
  numaNode?: number;
  iommuGroup?: string;
  /** Its device nodes, relative to `/dev`. */
  nodes?: string[];
};

export type ReportContent = {
  services: ServiceReport[];
  devices: DeviceReport[];
  /** What is there and could not be read, or was not yet: nothing is known of it. Absent when there is none. */
  unread?: Unread[];
  /** Facts about the machine, such as its CPU model. */
  facts: Record<string, string>;
  /** By question, for what the coordinator asked and the agent can tell. */
  answers?: Record<string, boolean>;
  /** By question, where the answer is that it is there, and it has a value. */
  values?: Record<string, string>;
  /** The version of the agent. */
  version?: string;
};

export type ReportHeader = {
  /** Name of the Node. */
  node: string;
  /** Random; names a session of the agent: one run, until a report of it does not count (`newSession`). Never logged. */
  boot: string;
  /** Grows by one with every transmission of a session. */
  sequence: number;
  /** SHA-256, in hex, of the canonical JSON of the content. */
  digest: string;
  /** `servicesDigest` of the list of services that the agent probes; absent before its first. */
  servicesDigest?: string;
  /** The last report of an agent that was asked to stop. */
  leaving?: boolean;
};

/** Says "as before": the coordinator knows the content by its digest. */
export type Heartbeat = ReportHeader;

export type FullReport = ReportHeader & ReportContent;

/** The addresses at which the agent probes a service, from the pods that the coordinator watches. */
export type ProbeTarget = { host: string; port: number };

/** How a service is asked. What goes with each kind is for the probe of that kind to read. */
export type ProbeSpec = { readonly kind: string; readonly [setting: string]: unknown };

/** A service that the agent is to probe. Omitted times and thresholds default to the agent's flags. */
export type ServiceToProbe = {
  /** SERVICE of a built-in service, else SERVICE/CHECK, or SERVICE/CHECK/CONTAINED within `anyOf`. */
  name: string;
  /** Identifies the check: probe, target, times and thresholds. The agent repeats it with its verdict. */
  digest: string;
  probe: ProbeSpec;
  /** The CA bundle of `probe`, by its key in `caBundles` of the reply. */
  caBundle?: string;
  /**
   * Left out: at the address of the node, and the port of `probe`. Of no use to what is probed at a path.
   */
  target?: ProbeTarget;
  /** Addresses of the pods of the service on the node, and of the node as these pods know it. */
  podAddresses?: readonly string[];
  /** When the pod of the service started, RFC 3339, for a probe that depends on it. */
  podStart?: string;
  periodMilliseconds?: number;
  timeoutMilliseconds?: number;
  failureThreshold?: number;
  successThreshold?: number;
};

/** What an agent is to probe, instead of what it was told before. */
export type ServiceList = {
  services: ServiceToProbe[];
  /** CA bundles by the SHA-256 of their text, in hex: several services may share one. Absent where there is none. */
  caBundles?: Record<string, string>;
  /** The digest of this list. The agent repeats it in its reports, and gets no list while it has the right one. */
  servicesDigest: string;
};

export type ReportReply = Partial<ServiceList> & {
  /** Seconds until the next heartbeat; the coordinator stretches it with the size of the fleet. */
  nextReportSeconds: number;
  /** The digest was not known: send the content. */
  full?: boolean;
  /** The report did not count, since its sequence or its boot is not the latest: begin a session with a new boot id. */
  newSession?: boolean;
  /** What to answer in each report, instead of what was asked before: `module:NAME`, `cpu:FLAG`, `nfd:local.feature.KEY`. */
  questions?: string[];
};
