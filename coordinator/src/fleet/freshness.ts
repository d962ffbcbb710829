import { guardHolds, type Population } from './guard.ts';

/** How well a node is heard. */
export type Freshness =
  /** Its agent reported within the window. */
  | { state: 'fresh' }
  /** Its agent said goodbye; silence counts later than usual. */
  | { state: 'leaving' }
  /** Not heard since this replica began to lead, or since its view was interrupted; it has one window to report. */
  | { state: 'unheard' }
  /** Not heard for longer than the window. `guard` names why that is not held against it. */
  | { state: 'silent'; guard?: string }
  /** There is no agent on this node, and none has ever reported. */
  | { state: 'absent' };

/** How long a node may be silent after its agent said goodbye, unless the window is longer. */
export const LEAVING_GRACE_MS = 120_000;

type Entry = {
  node: string;
  pool: string | undefined;
  stage: 'waiting' | 'overdue' | 'silent' | 'leaving';
  /** Whether a report was accepted since the last restart. */
  heard: boolean;
  /** Monotonic milliseconds from which silence is counted. */
  sinceMs: number;
};

type Group = Population & { guarded: boolean; entries: Set<Entry> };

/** Name of the guard over all nodes; pools have their own, `pool NAME`. */
export const FLEET_GUARD = 'fleet';

export type FreshnessOptions = {
  /** How long a node may be silent. */
  windowMs: number;
  /** Share of overdue nodes, of all or of a pool, from which silence is not held against a node. */
  guardPercent: number;
  /** The node fell silent. */
  onChange: (node: string) => void;
  /** The first window after a restart is over: a node without an agent is `absent` from now on. */
  onSettled: () => void;
};

/**
 * Who reports, who is silent, and whether silence means anything.
 *
 * A node passes from waiting to overdue at half the window, and to silent at the end of it. Overdue nodes are what the
 * guard counts: agents that all stop at one moment fall silent one after the other, as their last reports were spread
 * over a heartbeat interval, and the guard must hold before the first of them would lose its label.
 *
 * Each stage is a queue ordered by time, so that a tick costs only what changes.
 */
export class FreshnessTracker {
  readonly #entries = new Map<string, Entry>();
  readonly #queues = { waiting: new Set<Entry>(), overdue: new Set<Entry>(), leaving: new Set<Entry>() };
  readonly #groups = new Map<string, Group>();
  readonly #options: FreshnessOptions;
  #settlesAtMs = 0;
  #settled = false;

  constructor(options: FreshnessOptions) {
    this.#options = options;
  }

  /** A node is expected to report from now on: it has an agent. */
  expect(node: string, pool: string | undefined, nowMs: number): void {
    if (this.#entries.has(node)) return;
    this.#enter({ node, pool, stage: 'waiting', heard: false, sinceMs: nowMs });
  }

  heard(node: string, pool: string | undefined, nowMs: number, leaving: boolean): void {
    this.#remove(node);
    this.#enter({ node, pool, stage: leaving ? 'leaving' : 'waiting', heard: true, sinceMs: nowMs });
  }

  setPool(node: string, pool: string | undefined): void {
    const entry = this.#entries.get(node);
    if (!entry || entry.pool === pool) return;
    this.#leaveGroups(entry);
    entry.pool = pool;
    this.#joinGroups(entry);
  }

  /** The Node is gone, or it has no agent any more and never reported. */
  forget(node: string): void {
    this.#remove(node);
  }

  /** Every node gets a fresh window: this replica has just begun to lead, or had itself lost the API server. */
  restart(nowMs: number): void {
    this.#settlesAtMs = nowMs + this.#options.windowMs;
    this.#settled = false;
    for (const entry of [...this.#entries.values()]) {
      const graceLeftMs = entry.stage === 'leaving' ? entry.sinceMs + this.#leavingGraceMs - nowMs : 0;
      if (graceLeftMs <= this.#options.windowMs) this.#renew(entry, nowMs);
    }
  }

  /** Moves on whose time has come. To be called about once a second. */
  tick(nowMs: number): void {
    this.#promote(this.#queues.waiting, nowMs - this.#options.windowMs / 2, 'overdue');
    this.#promote(this.#queues.overdue, nowMs - this.#options.windowMs, 'silent');
    const { windowMs } = this.#options;
    // They pass through overdue like the others, so that the guard sees them before the first is judged.
    this.#promote(this.#queues.leaving, nowMs - this.#leavingGraceMs + windowMs / 2, 'overdue', nowMs - windowMs / 2);
    for (const group of this.#groups.values()) this.#evaluate(group, nowMs);
    if (this.#settled || nowMs < this.#settlesAtMs) return;
    this.#settled = true;
    this.#options.onSettled();
  }

  of(node: string): Freshness {
    const entry = this.#entries.get(node);
    if (!entry) return { state: this.#settled ? 'absent' : 'unheard' };
    if (entry.stage === 'leaving') return { state: 'leaving' };
    if (entry.stage !== 'silent') return { state: entry.heard ? 'fresh' : 'unheard' };
    const guard = groupNames(entry).find((name) => this.#groups.get(name)?.guarded);
    return guard === undefined ? { state: 'silent' } : { state: 'silent', guard };
  }

  /** Milliseconds since the last report; `undefined` for a node that was not heard. */
  quietMs(node: string, nowMs: number): number | undefined {
    const entry = this.#entries.get(node);
    return entry?.heard ? nowMs - entry.sinceMs : undefined;
  }

  /** Names of the guards that hold now. */
  activeGuards(): string[] {
    return [...this.#groups].filter(([, group]) => group.guarded).map(([name]) => name);
  }

  get population(): Population {
    const { expected, overdue } = this.#groups.get(FLEET_GUARD) ?? { expected: 0, overdue: 0 };
    return { expected, overdue };
  }

  #enter(entry: Entry): void {
    this.#entries.set(entry.node, entry);
    if (entry.stage !== 'silent') this.#queues[entry.stage].add(entry);
    this.#joinGroups(entry);
  }

  #remove(node: string): void {
    const entry = this.#entries.get(node);
    if (!entry) return;
    this.#entries.delete(node);
    if (entry.stage !== 'silent') this.#queues[entry.stage].delete(entry);
    this.#leaveGroups(entry);
  }

  /** One more window, in which what was heard before says nothing. */
  #renew(entry: Entry, nowMs: number): void {
    this.#remove(entry.node);
    this.#enter({ ...entry, stage: 'waiting', heard: false, sinceMs: nowMs });
  }

  #joinGroups(entry: Entry): void {
    for (const name of groupNames(entry)) {
      const group = this.#groups.get(name) ?? { expected: 0, overdue: 0, guarded: false, entries: new Set() };
      this.#groups.set(name, group);
      group.entries.add(entry);
      group.expected += 1;
      if (isOverdue(entry)) group.overdue += 1;
    }
  }

  #leaveGroups(entry: Entry): void {
    for (const name of groupNames(entry)) {
      const group = this.#groups.get(name);
      if (!group) continue;
      group.entries.delete(entry);
      group.expected -= 1;
      if (isOverdue(entry)) group.overdue -= 1;
      if (group.expected === 0) this.#groups.delete(name);
    }
  }

  get #leavingGraceMs(): number {
    return Math.max(LEAVING_GRACE_MS, this.#options.windowMs);
  }

  /** `sinceMs`: from when on the silence of those who move on is counted, where that is not as before. */
  #promote(queue: Set<Entry>, sinceAtMostMs: number, stage: 'overdue' | 'silent', sinceMs?: number): void {
    for (const entry of queue) {
      if (entry.sinceMs > sinceAtMostMs) break;
      queue.delete(entry);
      this.#leaveGroups(entry);
      entry.stage = stage;
      if (sinceMs !== undefined) entry.sinceMs = sinceMs;
      this.#joinGroups(entry);
      if (stage === 'overdue') this.#queues.overdue.add(entry);
      else this.#options.onChange(entry.node);
    }
  }

  #evaluate(group: Group, nowMs: number): void {
    const held = group.guarded;
    group.guarded = guardHolds(held, group, this.#options.guardPercent);
    if (!held || group.guarded) return;
    // Who is still silent was not judged while the guard held, and gets one window of its own.
    for (const entry of [...group.entries].filter(isOverdue)) this.#renew(entry, nowMs);
  }
}

function groupNames({ pool }: Entry): string[] {
  return pool === undefined ? [FLEET_GUARD] : [FLEET_GUARD, `pool ${pool}`];
}

function isOverdue({ stage }: Entry): boolean {
  return stage === 'overdue' || stage === 'silent';
}
