import type { ServiceReport } from '@rollcall/common/report.ts';
import { type ProbeCheck, probeChecksOf, type Service } from '../model/services.ts';
import type { NodeRecord } from './node-record.ts';

/** Kinds of checks of what all nodes share. What fails on most of them at once is not the fault of the nodes. */
const SHARED_KINDS: ReadonlySet<string> = new Set(['dns', 'kubernetesService']);
/** Beyond this number of nodes a fault can be shared. */
const FAULTY_BY_THEMSELVES = 2;
/** Time for a report to arrive, and for a tick to count it. */
const COUNTED_MS = 2000;

/** `failing`: for less time than others with the same fault may take to report it; `failed`: for longer. */
type Phase = 'passing' | 'failing' | 'failed' | 'shared';

/** `report`: since when the check has the result, by the clock of the agent, which tells one failure from the next. */
type Memory = { phase: Phase; report: string; sinceMs: number };

export type SharedFaultsOptions = {
  /** Share of the nodes with a check from which its failure is not held against a node. */
  guardPercent: number;
  /** The longest time in milliseconds for which a failure is not held against a node because others may fail as well. */
  windowMs: number;
  services: () => readonly Service[];
  /** What the live agent of a node says of a check as it is now, by the id of the check. */
  reports: (record: NodeRecord) => ReadonlyMap<string, ServiceReport>;
  /** The verdict on a check may be another one, because time has passed or the guard has changed. */
  onChange: (node: string) => void;
};

/** A report that a check does not pass. */
export type Failure = Pick<ServiceReport, 'since'>;

/** A check that the guard keeps from being held against the nodes on which it fails. */
export type HeldCheck = { guard: 'shared-fault'; of: string; nodes: number };

/**
 * Whether the failures of checks of DNS and of the network are the fault of nodes, in one term. A failure counts only once
 * agents with the same fault had the time to report it, and not while most nodes have it.
 */
export class SharedFaults {
  readonly #options: SharedFaultsOptions;
  readonly #records: () => Iterable<NodeRecord>;
  /** By the id of the check. */
  readonly #memories = new Map<string, WeakMap<NodeRecord, Memory>>();
  /** How many nodes fail the checks that fail on most, by the id of the check. */
  readonly #guarded = new Map<string, number>();

  constructor(options: SharedFaultsOptions, records: () => Iterable<NodeRecord>) {
    this.#options = options;
    this.#records = records;
  }

  /** What a reported failure of this check is, as of the last tick; `undefined` where it counts as any other. */
  of({ id, probe }: ProbeCheck, record: NodeRecord, { since }: Failure): 'failing' | 'shared' | undefined {
    if (!SHARED_KINDS.has(probe.spec.kind)) return undefined;
    if (this.#guarded.has(id)) return 'shared';
    const memory = this.#memories.get(id)?.get(record);
    return memory?.phase === 'failed' && memory.report === since ? undefined : 'failing';
  }

  held(): HeldCheck[] {
    return [...this.#guarded].map(([of, nodes]) => ({ guard: 'shared-fault', of, nodes }));
  }

  /** Every failure begins anew: this replica had lost the API server. */
  renewAll(): void {
    this.#memories.clear();
  }

  /** Counts the failures of every such check. To be called about once a second. `nowMs` by the monotonic clock. */
  tick(nowMs: number): void {
    const checks = this.#options
      .services()
      .flatMap((service) => probeChecksOf(service).filter(({ probe }) => SHARED_KINDS.has(probe.spec.kind)));
    const ids = new Set(checks.map(({ id }) => id));
    for (const known of [this.#memories, this.#guarded])
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    if (checks.length === 0) return;
    const heard = [...this.#records()].map((record) => ({ record, reports: this.#options.reports(record) }));
    for (const check of checks) this.#look(check, heard, nowMs);
  }

  #look({ id, probe }: ProbeCheck, heard: readonly Heard[], nowMs: number): void {
    const { guardPercent, windowMs, onChange } = this.#options;
    const { periodMilliseconds = 1000, timeoutMilliseconds = 1000 } = probe;
    const countedMs = Math.min(windowMs, periodMilliseconds + timeoutMilliseconds + COUNTED_MS);
    const told = heard.flatMap(({ record, reports }) => {
      const report = reports.get(id);
      return report && !report.unknown ? { record, ...report } : [];
    });
    const failing = told.filter(({ ready }) => !ready).length;
    const isShared = failing > FAULTY_BY_THEMSELVES && 100 * failing >= guardPercent * told.length;
    if (isShared) this.#guarded.set(id, failing);
    else this.#guarded.delete(id);
    const before = this.#memories.get(id);
    const memories = new WeakMap<NodeRecord, Memory>();
    this.#memories.set(id, memories);
    for (const { record, ready, since } of told) {
      const memory = before?.get(record);
      const next = nextOf(memory, { ready, since, isShared, nowMs, countedMs });
      memories.set(record, next);
      if (next.phase !== (memory?.phase ?? 'passing')) onChange(record.name);
    }
  }
}

type Counted = { ready: boolean; since: string; isShared: boolean; nowMs: number; countedMs: number };

type Heard = { record: NodeRecord; reports: ReadonlyMap<string, ServiceReport> };

/** What was not held against a node while the fault was shared has its time from the end of that on. */
function nextOf(memory: Memory | undefined, { ready, since: report, isShared, nowMs, countedMs }: Counted): Memory {
  if (ready) return { phase: 'passing', report, sinceMs: nowMs };
  if (isShared) return { phase: 'shared', report, sinceMs: nowMs };
  const goesOn = memory?.report === report && (memory.phase === 'failing' || memory.phase === 'failed');
  const sinceMs = goesOn ? memory.sinceMs : nowMs;
  return { phase: nowMs - sinceMs >= countedMs ? 'failed' : 'failing', report, sinceMs };
}
