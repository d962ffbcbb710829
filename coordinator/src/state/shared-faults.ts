import type { ServiceReport } from '@rollcall/common/report.ts';
import { isOfCluster, type ProbeCheck, probeChecksOf, type Service } from '../model/services.ts';
import { Doubts } from './doubts.ts';
import type { NodeRecord } from './node-record.ts';

/** Time for a report to arrive, and for a tick to count it. */
const COUNTED_MS = 2000;

export type SharedFaultsOptions = {
  /** Share of the nodes with a check from which its failure is not held against a node. */
  guardPercent: number;
  /** The longest time in milliseconds for which a failure is not held against a node because others may fail as well. */
  windowMs: number;
  services: () => readonly Service[];
  /** What the live agent of a node says of a check as it is now, by the id of the check. */
  reports: (record: NodeRecord) => ReadonlyMap<string, ServiceReport>;
  isKnown: () => boolean;
  onChange: (node: string) => void;
};

/** A report that a check does not pass. `since`: by the clock of the agent, which tells one failure from the next. */
export type Failure = Pick<ServiceReport, 'since'>;

/**
 * Whether the failures of checks of DNS and of the network are the fault of nodes. A failure counts only once agents with
 * the same fault had the time to report it, and not while most nodes have it.
 */
export function doubtsOfTargets(
  { guardPercent, windowMs, services, reports, isKnown, onChange }: SharedFaultsOptions,
  records: () => Iterable<NodeRecord>,
): Doubts<ProbeCheck> {
  return new Doubts<ProbeCheck>(
    {
      ...{ subject: 'target', guardPercent, isKnown, onChange },
      asked: () =>
        services().flatMap((service) => {
          const checks = probeChecksOf(service).filter(({ settings }) => isOfCluster(settings));
          return checks.map((check) => ({ check, service }));
        }),
      poolOf: () => undefined,
      find: ({ check: { id } }, record) => {
        const report = reports(record).get(id);
        if (!report || report.unknown) return { counts: 'never', loss: undefined };
        return { counts: 'always', loss: report.ready ? undefined : report.since };
      },
      timesOf: ({ settings: { periodMilliseconds = 1000, timeoutMilliseconds = 1000 } }) => {
        return { windowMs: Math.min(windowMs, periodMilliseconds + timeoutMilliseconds + COUNTED_MS), countedMs: 0 };
      },
      nameOf: ({ id }) => id,
    },
    records,
  );
}

/** What a reported failure of this check is, as of the last tick; `undefined` where it counts as any other. */
export function faultOf(
  doubts: Doubts<ProbeCheck>,
  check: ProbeCheck,
  { record, since }: Failure & { record: NodeRecord },
): 'failing' | 'shared' | undefined {
  if (!isOfCluster(check.settings)) return undefined;
  const { guard, loss, isOver } = doubts.of(check, record);
  if (guard !== undefined) return 'shared';
  return isOver && loss === since ? undefined : 'failing';
}
