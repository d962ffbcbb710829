import type { ActiveGuard } from '@rollcall/common/guards.ts';
import { Census, type Counts, Guard, type Member, ruleOf } from './guard.ts';
import type { NodeRecord } from './node-record.ts';
import { type AgentSigns, type Freshness, freshnessOf, isOverdue, type Presence, silentFromMs } from './presence.ts';

export type FreshnessOptions = {
  /** Whether nodes have agents; defaults to true. */
  agents?: boolean;
  /** How long a node may be silent. */
  windowMs: number;
  /** Share of overdue nodes, of all or of a pool, from which silence is not held against a node. */
  guardPercent: number;
  /** The node fell silent, or its agent is no longer waited for. */
  onChange: (node: string) => void;
};

/**
 * Who reports, who is silent, and whether silence means anything, in one term. Events only note facts; what follows from
 * the time is decided for all nodes at each tick, after the guard.
 */
export class FreshnessTracker {
  readonly #options: FreshnessOptions;
  readonly #records: () => Iterable<NodeRecord>;
  readonly #guard: Guard;
  /** The last tick. Silence is evaluated by it, so that no node is silent before the guard has counted it. */
  #nowMs: number;
  #renewedMs: number;
  #isKnown = false;

  /** `records`: the nodes of the term. `nowMs`: when the term begins, by the monotonic clock. */
  constructor(options: FreshnessOptions, records: () => Iterable<NodeRecord>, nowMs: number) {
    this.#options = options;
    this.#records = records;
    this.#guard = new Guard(ruleOf('agents', options.guardPercent));
    this.#nowMs = nowMs;
    this.#renewedMs = nowMs;
  }

  /** The facts about a node that is known from `nowMs` on. */
  begin(pool: string | undefined, { isExpected, wasHeard, mayHaveLeft }: AgentSigns, nowMs: number): Presence {
    return {
      pool,
      heardMs: undefined,
      goodbyeMs: mayHaveLeft ? nowMs : undefined,
      expectedMs: isExpected ? nowMs : undefined,
      renewedMs: this.#renewedMs,
      wasHeard,
      hasVoice: wasHeard && !mayHaveLeft,
      guard: undefined,
    };
  }

  /** A node is expected to report from now on: it has an agent. */
  expect({ presence }: NodeRecord, nowMs: number): void {
    presence.expectedMs ??= nowMs;
  }

  heard({ presence }: NodeRecord, nowMs: number): void {
    presence.heardMs = nowMs;
    presence.goodbyeMs = undefined;
    presence.expectedMs ??= nowMs;
    presence.wasHeard = true;
    presence.hasVoice = true;
  }

  /**
   * No agent speaks for the node any more. It has time for that only if a session spoke, once, and not if it is silent
   * already. `isExpected`: a pod of an agent is there still, or one has reported in this term.
   */
  goodbye({ presence }: NodeRecord, nowMs: number, isExpected: boolean): void {
    const isSilent = this.#nowMs >= silentFromMs(presence, this.#options.windowMs);
    if (presence.hasVoice && !isSilent) presence.goodbyeMs = nowMs;
    presence.hasVoice = false;
    if (!isExpected) presence.expectedMs = undefined;
  }

  /** This replica had itself lost the API server: as at the beginning of a term, every node gets a fresh window. */
  renewAll(nowMs: number): void {
    this.#renewedMs = nowMs;
    this.#isKnown = false;
    for (const { presence } of this.#records()) renew(presence, nowMs);
  }

  /** Counts the guard anew and decides who is silent now. To be called about once a second. */
  tick(nowMs: number): void {
    const { windowMs, guardPercent, onChange } = this.#options;
    const due: NodeRecord[] = [];
    const count = { expected: 0, heard: 0 };
    const members = [...this.#records()].map((record): Member => {
      const { presence } = record;
      const fromMs = silentFromMs(presence, windowMs);
      if (fromMs > this.#nowMs && fromMs <= nowMs) due.push(record);
      const isExpected = presence.expectedMs !== undefined;
      if (isExpected) count.expected += 1;
      if (isExpected && presence.heardMs !== undefined) count.heard += 1;
      const isLosing = isOverdue(fromMs, nowMs, windowMs);
      const renewIt = () => isExpected && isLosing && renew(presence, nowMs);
      return { pool: presence.pool, counts: countsOf(presence), isLosing, memory: presence, renew: renewIt };
    });
    this.#guard.judge(members);
    this.#nowMs = nowMs;
    for (const { name, presence } of due) if (silentFromMs(presence, windowMs) <= nowMs) onChange(name);
    const areMostHeard = 100 * count.heard >= guardPercent * count.expected;
    this.#isKnown ||= areMostHeard || nowMs >= this.#renewedMs + windowMs;
  }

  /** Whether so many agents were heard since silence was last counted anew that a fault that most have would show. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  of({ presence }: Pick<NodeRecord, 'presence'>): Freshness {
    if (this.#options.agents === false) return { state: 'none' };
    return freshnessOf(presence, this.#nowMs, this.#options.windowMs);
  }

  /** Milliseconds since the last report; `undefined` for a node that was not heard since silence was last counted anew. */
  quietMs({ presence: { heardMs } }: NodeRecord, nowMs: number): number | undefined {
    return heardMs === undefined ? undefined : nowMs - heardMs;
  }

  /** The guards that hold now, by pool and for the fleet. */
  held(): ActiveGuard[] {
    return this.#guard.held().map((each) => ({ subject: 'agents', ...each }));
  }

  /** How many nodes count in the guard of the fleet, as of the last tick. Walks over all nodes. */
  get population(): { expected: number; overdue: number } {
    const { windowMs } = this.#options;
    const census = new Census();
    for (const { presence } of this.#records())
      census.add(presence.pool, countsOf(presence), isOverdue(silentFromMs(presence, windowMs), this.#nowMs, windowMs));
    const { size, losing } = census.fleet;
    return { expected: size, overdue: losing };
  }
}

function countsOf({ expectedMs, wasHeard }: Presence): Counts {
  if (expectedMs === undefined) return 'never';
  return wasHeard ? 'always' : 'while-no-other';
}

/** Begins one more window, in which what was heard before says nothing. */
function renew(presence: Presence, nowMs: number): void {
  presence.heardMs = undefined;
  presence.renewedMs = nowMs;
}
