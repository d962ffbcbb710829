import type { ProbeSpec } from '@rollcall/common/report.ts';
import { SERVICE_LABEL_PREFIX } from '@rollcall/common/well-known.ts';
import type { NodeService } from '../../kube/objects.ts';
import { PredicateProblem, parseDeviceLine } from '../../model/inventory/parse-predicate.ts';
import { any, type Check, labelSelector, objectOf, oneOf, text } from '../../model/known-fields.ts';
import type { LabelSelector } from '../../model/label-selector.ts';
import type { DeviceRequirement, Publication, Service, ServicePods, ServiceProbe } from '../../model/services.ts';

/** A NodeService as it is written, and what was said of it. */
export type ObservedNodeService = {
  uid: string;
  name: string;
  generation: number;
  /** By the wall clock, in milliseconds since the epoch. */
  createdAtMs: number;
  /** What it asks for. */
  service: Service;
  /** The first field of its spec that this version does not know, or whose value it does not know. */
  unknownField: string | undefined;
  /** What is wrong with the devices that it asks for; for people. */
  devicesProblem?: string;
  /** As last seen or written; its form is not validated here. */
  status: unknown;
};

type Spec = {
  nodeSelector?: LabelSelector;
  pods?: ServicePods;
  probe?: WrittenProbe;
  csiDriver?: string;
  devices?: readonly string[];
  mode?: Service['mode'];
  publish?: Publication;
};

type WrittenProbe = Omit<ServiceProbe, 'spec' | 'port'> & Record<string, unknown>;

const port = objectOf({ port: any });
const request = { path: any, headers: any, statuses: any };
const path = objectOf({ path: any });
const PROBE_KINDS: Record<string, Check> = {
  tcp: port,
  tls: port,
  http2: port,
  http: objectOf({ port: any }, request),
  https: objectOf({ port: any }, { ...request, caBundle: any }),
  grpc: objectOf({}, { port: any, socket: any, service: any }),
  csi: objectOf({ socket: any }),
  unix: path,
  file: objectOf({ path: any }, { maxAgeSeconds: any }),
};
/** Fields of `spec.probe` that are not a kind of probe. */
const PROBE_FIELDS: Record<string, Check> = {
  host: oneOf('Pod', 'Node', 'Loopback'),
  periodMilliseconds: any,
  timeoutMilliseconds: any,
  failureThreshold: any,
  successThreshold: any,
};

/** Leaves a newer kind of probe, which is an object, to the agent: its answer says whether it knows the kind. */
function besidesNewKinds(check: Check): Check {
  return (value, path) => {
    const isOld = ([field, each]: [string, unknown]) => Object.hasOwn(PROBE_KINDS, field) || typeof each !== 'object';
    return check(Object.fromEntries(Object.entries(value as object).filter(isOld)), path);
  };
}

const unknownField = objectOf(
  {},
  {
    nodeSelector: labelSelector,
    pods: objectOf({ namespace: text, selector: labelSelector }, { daemonSet: text }),
    probe: besidesNewKinds(objectOf({}, { ...PROBE_KINDS, ...PROBE_FIELDS })),
    csiDriver: text,
    devices: any,
    mode: oneOf('Continuous', 'Startup'),
    publish: objectOf(
      {},
      {
        label: text,
        taint: objectOf({ key: text, effect: oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute') }, { value: text }),
        condition: text,
      },
    ),
  },
);

/** Trims a NodeService. The API server checked its schema, which may be the schema of a newer version. */
export function observeNodeService({ metadata, spec = {}, status }: NodeService): ObservedNodeService {
  const { uid, name, generation = 0 } = metadata;
  const createdAtMs = Date.parse(metadata.creationTimestamp ?? '') || 0;
  const { nodeSelector, pods, probe, csiDriver, devices, mode = 'Continuous', publish } = spec as Spec;
  const { requirements, problem } = readDevices(devices ?? []);
  const service: Service = {
    name,
    ...(nodeSelector ? { nodeSelector } : {}),
    ...(pods ? { pods } : {}),
    ...(probe ? { probe: readProbe(probe) } : {}),
    ...(csiDriver === undefined ? {} : { csiDriver }),
    ...(devices ? { devices: requirements } : {}),
    mode,
    publish: publish ? readPublication(publish) : { label: `${SERVICE_LABEL_PREFIX}${name}` },
    origin: { kind: 'object', uid, generation, createdAtMs },
  };
  return {
    uid,
    name,
    generation,
    createdAtMs,
    service,
    unknownField: unknownField(spec, 'spec'),
    ...(problem === undefined ? {} : { devicesProblem: problem }),
    status,
  };
}

/** All that can be understood, and what is wrong with the first that cannot. */
function readDevices(lines: readonly string[]): { requirements: DeviceRequirement[]; problem?: string } {
  const requirements: DeviceRequirement[] = [];
  for (const [index, text] of lines.entries()) {
    try {
      requirements.push({ text, term: parseDeviceLine(text) });
    } catch (err) {
      if (!(err instanceof PredicateProblem)) throw err;
      return { requirements, problem: `spec.devices[${index}], column ${err.column}: ${err.message}` };
    }
  }
  return { requirements };
}

/** `{http: {port, path}, periodMilliseconds}` is a probe of the kind `http`, as agents are told. */
function readProbe(probe: WrittenProbe): ServiceProbe {
  const { host, periodMilliseconds, timeoutMilliseconds, failureThreshold, successThreshold } = probe;
  const times = { periodMilliseconds, timeoutMilliseconds, failureThreshold, successThreshold };
  const [kind, settings] = Object.entries(probe).find(([field]) => !Object.hasOwn(PROBE_FIELDS, field)) ?? ['none', {}];
  const { port, ...more } = settings as { port?: number } & Record<string, unknown>;
  const spec: ProbeSpec = { kind, ...more };
  return { spec, ...(port === undefined ? {} : { port }), ...given({ host }), ...given(times) };
}

function readPublication({ label, taint, condition }: Publication): Publication {
  const isThere = taint ? { taint: { key: taint.key, value: taint.value ?? '', effect: taint.effect } } : {};
  return { ...given({ label, condition }), ...isThere };
}

/** Without what is not there. */
function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
