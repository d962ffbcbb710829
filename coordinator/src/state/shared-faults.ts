import type { ActiveGuard } from '@rollcall/common/guards.ts';
import type { ServiceReport } from '@rollcall/common/report.ts';
import { isOfCluster, type ProbeCheck, probeChecksOf, type Service, type ServiceProbe } from '../model/services.ts';
import { wireProbe } from '../model/wire-probe.ts';
import type { NodeRecord } from './node-record.ts';

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

/**
 * Whether the failures of checks of DNS and of the network are the fault of nodes, in one term. A failure counts only once
 * agents with the same fault had the time to report it, and not while most nodes have it.
 */
export class SharedFaults {
  readonly #options: SharedFaultsOptions;
  readonly #records: () => Iterable<NodeRecord>;
  /** By what a check says, so that one that is renamed is the same. */
  readonly #memories = new Map<string, WeakMap<NodeRecord, Memory>>();
  /** How many nodes fail the checks that fail on most, with the id of one of them. */
  readonly #guarded = new Map<string, { id: string; nodes: number }>();
  /** Until when a failure waits for most agents to be heard, by the monotonic clock. */
  #knownFromMs: number;

  constructor(options: SharedFaultsOptions, records: () => Iterable<NodeRecord>, nowMs: number) {
    this.#options = options;
    this.#records = records;
    this.#knownFromMs = nowMs + options.windowMs;
  }

  /** What a reported failure of this check is, as of the last tick; `undefined` where it counts as any other. */
  of({ probe }: ProbeCheck, record: NodeRecord, { since }: Failure): 'failing' | 'shared' | undefined {
    if (!isOfCluster(probe)) return undefined;
    const id = textOf(probe);
    if (this.#guarded.has(id)) return 'shared';
    const memory = this.#memories.get(id)?.get(record);
    return memory?.phase === 'failed' && memory.report === since ? undefined : 'failing';
  }

  /** The checks that are held against none of the nodes on which they fail. */
  held(): ActiveGuard[] {
    return [...this.#guarded.values()].map(({ id, nodes }) => ({ subject: 'target', of: id, nodes }));
  }

  /** Every failure begins anew: this replica had lost the API server. */
  renewAll(nowMs: number): void {
    this.#memories.clear();
    this.#knownFromMs = nowMs + this.#options.windowMs;
  }

  /** Counts the failures of every such check. To be called about once a second. `nowMs` by the monotonic clock. */
  tick(nowMs: number): void {
    const checks = this.#options
      .services()
      .flatMap((service) => probeChecksOf(service).filter(({ probe }) => isOfCluster(probe)));
    const alike = Map.groupBy(checks, ({ probe }) => textOf(probe));
    for (const known of [this.#memories, this.#guarded])
      for (const id of known.keys()) if (!alike.has(id)) known.delete(id);
    if (checks.length === 0) return;
    if (this.#areMostHeard()) this.#knownFromMs = Math.min(this.#knownFromMs, nowMs);
    const heard = [...this.#records()].map((record) => ({ record, reports: this.#options.reports(record) }));
    for (const [text, each] of alike) this.#look(text, each, heard, nowMs);
  }

  /** Whether so many agents were heard since silence was last counted anew that a fault that most have would show. */
  #areMostHeard(): boolean {
    const expected = [...this.#records()].filter(({ presence }) => presence.expectedMs !== undefined);
    const heard = expected.filter(({ presence }) => presence.heardMs !== undefined);
    return 100 * heard.length >= this.#options.guardPercent * expected.length;
  }

  #look(text: string, checks: readonly ProbeCheck[], heard: readonly Heard[], nowMs: number): void {
    const { guardPercent, windowMs, onChange } = this.#options;
    const [{ id = '', probe } = {}] = checks;
    const { periodMilliseconds = 1000, timeoutMilliseconds = 1000 } = probe ?? {};
    const countedMs = Math.min(windowMs, periodMilliseconds + timeoutMilliseconds + COUNTED_MS);
    const told = heard.flatMap(({ record, reports }) => {
      const known = checks.flatMap((check) => reports.get(check.id) ?? []).filter(({ unknown }) => !unknown);
      const report = known.find(({ ready }) => !ready) ?? known[0];
      return report ? { record, ...report } : [];
    });
    const failing = told.filter(({ ready }) => !ready).length;
    const isShared = failing > FAULTY_BY_THEMSELVES && 100 * failing >= guardPercent * told.length;
    if (isShared) this.#guarded.set(text, { id, nodes: failing });
    else this.#guarded.delete(text);
    const before = this.#memories.get(text);
    const memories = new WeakMap<NodeRecord, Memory>();
    this.#memories.set(text, memories);
    for (const { record, ready, since } of told) {
      const memory = before?.get(record);
      const next = nextOf(memory, { ready, since, isShared, nowMs, countedMs, knownFromMs: this.#knownFromMs });
      memories.set(record, next);
      if (next.phase !== (memory?.phase ?? 'passing')) onChange(record.name);
    }
  }
}

type Counted = {
  ready: boolean;
  since: string;
  isShared: boolean;
  nowMs: number;
  countedMs: number;
  knownFromMs: number;
};

/** What a check asks, without its name. */
function textOf(probe: ServiceProbe): string {
  return `${wireProbe(probe).digest} ${probe.host} ${probe.port}`;
}

type Heard = { record: NodeRecord; reports: ReadonlyMap<string, ServiceReport> };

/** What was not held against a node while the fault was shared has its time from the end of that on. */
function nextOf(
  memory: Memory | undefined,
  { ready, since: report, isShared, nowMs, countedMs, knownFromMs }: Counted,
): Memory {
  if (ready) return { phase: 'passing', report, sinceMs: nowMs };
  if (isShared) return { phase: 'shared', report, sinceMs: nowMs };
  const goesOn = memory?.report === report && (memory.phase === 'failing' || memory.phase === 'failed');
  const sinceMs = goesOn ? memory.sinceMs : nowMs;
  const isCounted = nowMs >= Math.max(sinceMs + countedMs, knownFromMs);
  return { phase: isCounted ? 'failed' : 'failing', report, sinceMs };
}
