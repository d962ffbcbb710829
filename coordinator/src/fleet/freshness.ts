import { SilenceGuards } from './guard.ts';
import type { NodeRecord } from './node-record.ts';
import { isOverdue, type Population, type Stage } from './presence.ts';

/** How well a node is heard. */
export type Freshness =
  /** Its agent reported within the window. */
  | { state: 'fresh' }
  /** Its agent said goodbye; silence counts later than usual. */
  | { state: 'leaving' }
  /** Not heard since this replica began to lead, or since its view was interrupted; it has some time to report. */
  | { state: 'unheard' }
  /** Not heard for longer than the window. `guard` names why that is not held against it. */
  | { state: 'silent'; guard?: string }
  /** There is no agent on this node, and none has reported in this term. */
  | { state: 'absent' };

/** How long a node may be silent after its agent said goodbye, unless the window is longer. */
export const LEAVING_GRACE_MS = 120_000;

/**
 * What a node and the pods on it say of its agent. `gone`: there was one. `starting`: one that is new and not Ready yet is
 * all there is.
 */
export type AgentPresence = 'none' | 'gone' | 'starting' | 'there';

const AT_TAKE_OVER = { none: 'bare', gone: 'parting', starting: 'leaving', there: 'waiting' } as const;
const LATER = { none: 'absent', gone: 'absent', starting: 'waiting', there: 'waiting' } as const;

export type FreshnessOptions = {
  /** How long a node may be silent. */
  windowMs: number;
  /** Share of overdue nodes, of all or of a pool, from which silence is not held against a node. */
  guardPercent: number;
  /** The node fell silent, or nobody waits for its agent any more. */
  onChange: (node: string) => void;
};

/**
 * Who reports, who is silent, and whether silence means anything, in one term.
 *
 * A node passes from waiting to overdue at half the window, and to silent at the end of it. Overdue nodes are what the
 * guard counts: agents that all stop at one moment fall silent one after the other, as their last reports were spread
 * over a heartbeat interval, and the guard must hold before the first of them would lose its label.
 *
 * Each stage is a queue ordered by time, so that a tick costs only what changes.
 */
export class FreshnessTracker {
  readonly #queues = {
    bare: new Set<NodeRecord>(),
    parting: new Set<NodeRecord>(),
    waiting: new Set<NodeRecord>(),
    overdue: new Set<NodeRecord>(),
    leaving: new Set<NodeRecord>(),
  };
  readonly #guards: SilenceGuards;
  readonly #options: FreshnessOptions;
  readonly #beganMs: number;

  /** `nowMs`: when the term begins. */
  constructor(options: FreshnessOptions, nowMs: number) {
    this.#options = options;
    this.#guards = new SilenceGuards(options.guardPercent);
    this.#beganMs = nowMs;
  }

  /** A node is known from now on. Goodbyes may have been said to a predecessor: of those only the pods tell. */
  enter(record: NodeRecord, pool: string | undefined, agent: AgentPresence, nowMs: number): void {
    record.presence.pool = pool;
    const isTakenOver = nowMs - this.#beganMs < this.#options.windowMs;
    this.#move(record, (isTakenOver ? AT_TAKE_OVER : LATER)[agent], nowMs);
  }

  /** A node is expected to report from now on: it has an agent. */
  expect(record: NodeRecord, nowMs: number): void {
    const { stage } = record.presence;
    if (stage === 'absent' || stage === 'bare') this.#move(record, 'waiting', nowMs);
    // The successor of one that may have said goodbye.
    if (stage === 'parting') this.#move(record, 'leaving', nowMs);
  }

  heard(record: NodeRecord, nowMs: number): void {
    record.presence.heard = true;
    this.#move(record, 'waiting', nowMs);
  }

  /**
   * Nobody speaks for the node any more. One that was silent before stays so. `isExpected`: it has an agent's pod still,
   * or has reported in this term.
   */
  goodbye(record: NodeRecord, nowMs: number, isExpected: boolean): void {
    const { stage } = record.presence;
    if (stage === 'absent' || stage === 'bare' || stage === 'parting') return;
    if (!isExpected) this.#move(record, stage === 'silent' ? 'absent' : 'parting', nowMs);
    else if (stage === 'waiting' || stage === 'overdue') this.#move(record, 'leaving', nowMs);
  }

  setPool(record: NodeRecord, pool: string | undefined, nowMs: number): void {
    const { presence } = record;
    if (presence.pool === pool) return;
    const wasGuarded = this.#guards.of(presence) !== undefined;
    this.#guards.setPool(record, pool);
    // It was not judged while a guard held.
    if (wasGuarded && isOverdue(presence) && this.#guards.of(presence) === undefined) this.#renew(record, nowMs);
  }

  /** The Node is gone. */
  leave(record: NodeRecord): void {
    this.#move(record, 'absent', 0);
  }

  /** This replica had itself lost the API server: as at the beginning of a term, every node gets a fresh window. */
  renewAll(records: Iterable<NodeRecord>, nowMs: number): void {
    for (const record of records) {
      const { stage, sinceMs } = record.presence;
      const graceLeftMs = stage === 'leaving' ? sinceMs + this.#graceMs - nowMs : 0;
      if (stage === 'absent' || stage === 'bare') this.#move(record, 'bare', nowMs);
      else if (stage !== 'parting' && graceLeftMs <= this.#options.windowMs) this.#renew(record, nowMs);
    }
  }

  /** Moves on whose time has come. To be called about once a second. */
  tick(nowMs: number): void {
    const { windowMs, onChange } = this.#options;
    const { bare, parting, waiting, overdue, leaving } = this.#queues;
    for (const record of due(waiting, nowMs - windowMs / 2)) this.#move(record, 'overdue', record.presence.sinceMs);
    const changed = due(overdue, nowMs - windowMs);
    for (const record of changed) this.#move(record, 'silent', record.presence.sinceMs);
    // They pass through overdue like the others, so that the guard sees them before the first is judged.
    const impatient = due(leaving, nowMs - this.#graceMs + windowMs / 2);
    for (const record of impatient) this.#move(record, 'overdue', nowMs - windowMs / 2);
    const gone = [...due(bare, nowMs - windowMs), ...due(parting, nowMs - this.#graceMs)];
    for (const record of gone) this.#move(record, 'absent', nowMs);
    // Who is still silent was not judged while the guard held, and gets one window of its own.
    for (const record of this.#guards.evaluate()) this.#renew(record, nowMs);
    // Only now it is known whether their silence counts.
    for (const { name } of [...changed, ...gone]) onChange(name);
  }

  of({ presence }: Pick<NodeRecord, 'presence'>): Freshness {
    const { stage, heard } = presence;
    if (stage === 'absent') return { state: 'absent' };
    if (stage === 'silent') {
      const guard = this.#guards.of(presence);
      return guard === undefined ? { state: 'silent' } : { state: 'silent', guard };
    }
    if (!heard) return { state: 'unheard' };
    return { state: stage === 'leaving' ? 'leaving' : 'fresh' };
  }

  /** Milliseconds since the last report; `undefined` for a node that was not heard. */
  quietMs({ presence: { heard, sinceMs } }: NodeRecord, nowMs: number): number | undefined {
    return heard ? nowMs - sinceMs : undefined;
  }

  /** Names of the guards that hold now. */
  activeGuards(): string[] {
    return this.#guards.active();
  }

  get population(): Population {
    return this.#guards.population;
  }

  /** To another stage, or to the end of the queue of the same. */
  #move(record: NodeRecord, stage: Stage, sinceMs: number): void {
    const { presence } = record;
    // A heartbeat moves a node to the end of its queue, and nothing else.
    if (presence.stage === stage && isQueued(stage)) {
      presence.sinceMs = sinceMs;
      this.#queues[stage].delete(record);
      this.#queues[stage].add(record);
      return;
    }
    const before = { ...presence };
    if (isQueued(before.stage)) this.#queues[before.stage].delete(record);
    presence.stage = stage;
    presence.sinceMs = sinceMs;
    if (isQueued(stage)) this.#queues[stage].add(record);
    this.#guards.moved(record, before);
  }

  /** One more window, in which what was heard before says nothing. */
  #renew(record: NodeRecord, nowMs: number): void {
    record.presence.heard = false;
    this.#move(record, 'waiting', nowMs);
  }

  get #graceMs(): number {
    return Math.max(LEAVING_GRACE_MS, this.#options.windowMs);
  }
}

/** Those of a queue whose time has come. */
function due(queue: Set<NodeRecord>, sinceAtMostMs: number): NodeRecord[] {
  const records: NodeRecord[] = [];
  for (const record of queue) {
    if (record.presence.sinceMs > sinceAtMostMs) break;
    records.push(record);
  }
  return records;
}

function isQueued(stage: Stage): stage is Exclude<Stage, 'absent' | 'silent'> {
  return stage !== 'absent' && stage !== 'silent';
}
