import { CHECK_KINDS, PROBE_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { readBy } from '@rollcall/common/checks/schema.ts';
import { durationMs } from '@rollcall/common/duration-ms.ts';
import type { ServiceCheck, ServiceProbe, SingleCheck } from '../../model/services.ts';

const TIMEOUT_MS = 1000;

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
  const { name } = written;
  const kind = Object.keys(CHECK_KINDS).find((each) => each in written) ?? '';
  const given = written[kind] as Readonly<Record<string, unknown>>;
  if (kind in PROBE_KINDS) return { name, id, kind: 'probe', settings: readProbe(kind, given, written) };
  return { name, id, kind, settings: readBy(CHECK_KINDS[kind]?.schema ?? {}, given) } as SingleCheck;
}

/** `http: {port, path}` is a probe of the kind `http`, with the same settings, as agents are told. */
function readProbe(
  kind: string,
  { port, host, ...settings }: Pick<ServiceProbe, 'port' | 'host'>,
  { of, period, timeout, failureThreshold = 3, successThreshold = 1 }: WrittenCheck,
): ServiceProbe {
  // Without one, agents ask by their own periods: at rest less often.
  const periodMilliseconds = readDuration(period) ?? PROBE_KINDS[kind]?.periodMs;
  return {
    ...(port === undefined ? {} : { port }),
    ...(host === undefined ? {} : { host }),
    ...(of === undefined ? {} : { of }),
    spec: { kind, ...settings },
    ...(periodMilliseconds === undefined ? {} : { periodMilliseconds }),
    timeoutMilliseconds: readDuration(timeout) ?? TIMEOUT_MS,
    failureThreshold,
    successThreshold,
  };
}

function readDuration(text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationMs(text);
}
