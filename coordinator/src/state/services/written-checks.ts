import type { ProbeSpec } from '@rollcall/common/report.ts';
import { durationMs } from '../../model/duration.ts';
import { any, type Check, duration, labelSelector, listOf, objectOf, oneOf, text } from '../../model/known-fields.ts';
import type {
  ConditionCheck,
  InventoryPredicate,
  ServiceCheck,
  ServicePods,
  ServiceProbe,
  SingleCheck,
} from '../../model/services.ts';

/** A check as it is written in a NodeService: its name, one kind, and for a probe its times and thresholds. */
export type WrittenCheck = {
  name: string;
  anyOf?: readonly WrittenCheck[];
  period?: string;
  timeout?: string;
  failureThreshold?: number;
  successThreshold?: number;
  of?: string;
} & Record<string, unknown>;

type ReadKind = (settings: never, check: { id: string; written: WrittenCheck }) => SingleCheck;

const host = { host: oneOf('Pod', 'Node', 'Loopback') };
const port = objectOf({ port: any }, host);
const request = { path: any, headers: any, expectedStatuses: any, ...host };
const path = objectOf({ path: any });

/** The checks of an agent, by kind. */
const PROBES: Record<string, Check> = {
  tcp: port,
  tls: port,
  http2: port,
  http: objectOf({ port: any }, request),
  https: objectOf({ port: any }, { ...request, caBundle: any }),
  grpc: objectOf({}, { port: any, socket: any, service: any, ...host }),
  csi: objectOf({ socket: any }),
  unix: path,
  file: objectOf({ path: any }, { maxAge: duration, expectedFirstLine: text }),
  dns: objectOf({}, { name: text }),
  kubernetesService: objectOf({}),
};

/** All nodes ask the same servers. */
const PERIOD_MS: Readonly<Record<string, number>> = { dns: 10_000, kubernetesService: 10_000 };

/** The checks of the coordinator, by kind: the fields, and how they are read. */
const SEEN: Record<string, { fields: Check; read: ReadKind }> = {
  pods: {
    fields: objectOf({ namespace: text, selector: labelSelector }, { daemonSet: text }),
    read: (pods: ServicePods, { written: { name } }) => ({ name, kind: 'pods', pods }),
  },
  condition: {
    fields: objectOf(
      { type: text },
      {
        status: oneOf('True', 'False', 'Unknown'),
        for: duration,
        missing: oneOf('Unknown', 'Pass', 'Fail'),
        reporter: objectOf({ namespace: text, selector: labelSelector }),
        maxHeartbeatAge: duration,
      },
    ),
    read: (condition: WrittenCondition, { id, written: { name } }) => {
      const { type, status = 'True', missing = 'Unknown', reporter } = condition;
      return given({
        name,
        kind: 'condition',
        id,
        type,
        status,
        forMs: readDuration(condition.for) ?? 0,
        missing,
        reporter,
        maxHeartbeatAgeMs: readDuration(condition.maxHeartbeatAge),
      });
    },
  },
  csiNode: {
    fields: objectOf({ driver: text }),
    read: ({ driver }: { driver: string }, { written: { name } }) => ({ name, kind: 'csiNode', driver }),
  },
  device: {
    fields: objectOf({ name: text }, { minCount: any, driver: text }),
    read: ({ name: device, minCount = 1, driver }: Device, { written: { name } }) => ({
      name,
      kind: 'device',
      predicates: [
        atLeast('count', device, minCount),
        ...(driver === undefined ? [] : [{ kind: 'driver', name: device, test: { values: [driver] } } as const]),
      ],
    }),
  },
  resource: {
    fields: objectOf({ name: text }, { min: any }),
    read: ({ name: resource, min = 1 }: { name: string; min?: number }, { written: { name } }) => ({
      name,
      kind: 'resource',
      predicates: [atLeast('resource', resource, min)],
    }),
  },
  dra: {
    fields: objectOf({ driver: text }, { min: any }),
    read: ({ driver, min = 1 }: { driver: string; min?: number }, { written: { name } }) => ({
      name,
      kind: 'dra',
      predicates: [atLeast('dra', driver, min)],
    }),
  },
};

type WrittenCondition = Pick<ConditionCheck, 'type' | 'reporter'> &
  Partial<Pick<ConditionCheck, 'status' | 'missing'>> & { for?: string; maxHeartbeatAge?: string };

type Device = { name: string; minCount?: number; driver?: string };

function atLeast(kind: 'count' | 'resource' | 'dra', name: string, min: number): InventoryPredicate {
  return { kind, name, test: { op: '>=', bound: [min] } };
}

const KINDS: Record<string, Check> = {
  ...PROBES,
  ...Object.fromEntries(Object.entries(SEEN).map(([kind, { fields }]) => [kind, fields])),
};
const ofProbes = { period: duration, timeout: duration, failureThreshold: any, successThreshold: any, of: text };
/** Every kind of check that a NodeService can have, but for `anyOf`. */
export const CHECK_KINDS: readonly string[] = Object.keys(KINDS);
const single = withOneKind(objectOf({ name: text }, { ...KINDS, ...ofProbes }), CHECK_KINDS);
const anyOf = objectOf({ name: text, anyOf: listOf(single) });

/** Finds what is not known in `spec.checks`. */
export const checks: Check = listOf((value, path) =>
  typeof value === 'object' && value !== null && 'anyOf' in value ? anyOf(value, path) : single(value, path),
);

function withOneKind(check: Check, kinds: readonly string[]): Check {
  return (value, path) =>
    check(value, path) ?? (kinds.filter((kind) => kind in (value as object)).length === 1 ? undefined : path);
}

/** Reads checks in which everything is known. */
export function readChecks(service: string, written: readonly WrittenCheck[]): ServiceCheck[] {
  return written.map((check): ServiceCheck => {
    const { name, anyOf: contained } = check;
    if (!contained) return readSingle(check, `${service}/${name}`);
    return {
      name,
      kind: 'anyOf',
      checks: contained.map((each) => readSingle(each, `${service}/${name}/${each.name}`)),
    };
  });
}

function readSingle(written: WrittenCheck, id: string): SingleCheck {
  const seen = Object.keys(SEEN).find((kind) => kind in written);
  if (seen !== undefined) return SEEN[seen]?.read(written[seen] as never, { id, written }) as SingleCheck;
  return { name: written.name, kind: 'probe', id, probe: readProbe(written) };
}

/** What is not written is the same for every NodeService, whatever the flags of agents say. */
const DEFAULT_TIMES = {
  periodMilliseconds: 1000,
  timeoutMilliseconds: 1000,
  failureThreshold: 3,
  successThreshold: 1,
};

/** `http: {port, path}` is a probe of the kind `http`, as agents are told. */
function readProbe(written: WrittenCheck): ServiceProbe {
  const kind = Object.keys(PROBES).find((each) => each in written) ?? '';
  const { port, host, maxAge, expectedStatuses, ...settings } = written[kind] as Record<string, unknown> &
    ProbeSettings;
  const { period, timeout, failureThreshold, successThreshold, of } = written;
  const times = {
    periodMilliseconds: readDuration(period) ?? PERIOD_MS[kind],
    timeoutMilliseconds: readDuration(timeout),
    failureThreshold,
    successThreshold,
  };
  return {
    ...given<Omit<ServiceProbe, 'spec'>>({ port, host, of }),
    spec: given<ProbeSpec>({
      kind,
      ...settings,
      statuses: expectedStatuses,
      maxAgeMilliseconds: readDuration(maxAge),
    }),
    ...DEFAULT_TIMES,
    ...given(times),
  };
}

type ProbeSettings = {
  port?: number;
  host?: ServiceProbe['host'];
  maxAge?: string;
  expectedStatuses?: readonly string[];
};

function readDuration(text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationMs(text);
}

/** Without what is not there. */
function given<T extends object>(values: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}
