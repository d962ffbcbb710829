import type { Clock } from '@rollcall/common/clock.ts';
import type { AuditDocument, AuditEntry, DriftDirection } from '@rollcall/common/console.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { NodeRecord } from '../../state/node-record.ts';
import { type DriftRules, driftOn, type LedgerFacts } from './drift.ts';
import { DriftTotals } from './drift-totals.ts';

export type LedgerOptions = {
  record: (node: string) => NodeRecord | undefined;
  facts: (node: string) => LedgerFacts | undefined;
  rules: () => DriftRules;
  /** Whether what is known is fit to judge by. */
  mayJudge: () => boolean;
  clock: Clock;
};

const DAY_SECONDS = 86_400;

/** The truth ledger: how long Nodes said what the evidence contradicts, since this replica leads. */
export class Ledger {
  readonly #options: LedgerOptions;
  #book = new DriftTotals();
  /** Of terms that are over, by direction and key. */
  readonly #carried = new Map<string, { key: string; direction: DriftDirection; seconds: number }>();
  readonly #records = new Map<string, NodeRecord>();
  #since: { monotonicMs: number; wallMs: number };

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#since = this.#now();
  }

  /** The node may be other than it was, or gone. */
  look(name: string): void {
    if (!this.#options.mayJudge()) return;
    const nowMs = this.#options.clock.monotonic();
    const record = this.#options.record(name);
    const before = this.#records.get(name);
    if (before && before !== record) {
      this.#book.forget(before, nowMs);
      this.#records.delete(name);
    }
    const facts = record && this.#options.facts(name);
    if (!facts) return;
    this.#records.set(name, record);
    this.#book.saw(record, driftOn(facts, this.#options.rules()), nowMs);
  }

  /** Another term begins, or this replica leads no more. What was counted by key stays: counters only grow. */
  restart(): void {
    for (const counted of this.seconds()) this.#carried.set(`${counted.direction}:${counted.key}`, counted);
    this.#book = new DriftTotals();
    this.#records.clear();
    this.#since = this.#now();
  }

  /** By key and direction. */
  seconds(): { key: string; direction: DriftDirection; seconds: number }[] {
    const sums = new Map(this.#carried);
    for (const counted of this.#book.seconds(this.#options.clock.monotonic())) {
      const id = `${counted.direction}:${counted.key}`;
      sums.set(id, { ...counted, seconds: counted.seconds + (sums.get(id)?.seconds ?? 0) });
    }
    return [...sums.values()];
  }

  /** The audit, but for the entries. */
  summary(): Omit<AuditDocument, 'replica' | 'entries'> {
    const now = this.#now();
    const keys = this.#book.keys(now.monotonicMs);
    const sum = keys.reduce((all, each) => all + each.saidReadySeconds + each.saidNotReadySeconds, 0);
    const nodes = this.#records.size;
    const days = Math.max(1, now.monotonicMs - this.#since.monotonicMs) / 1000 / DAY_SECONDS;
    return {
      since: rfc3339(this.#since.wallMs),
      nodes,
      driftSecondsPerNodeDay: nodes === 0 ? 0 : Math.round((sum / nodes / days) * 10) / 10,
      keys,
    };
  }

  /** Node by node; `undefined` after each, so that others may have a turn. */
  *entries(): Iterable<AuditEntry | undefined> {
    for (const record of this.#records.values()) {
      yield* this.#book.entriesOf(record, this.#now());
      yield undefined;
    }
  }

  #now(): { monotonicMs: number; wallMs: number } {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
  }
}
