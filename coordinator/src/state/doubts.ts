import type { Moment } from '@rollcall/common/clock.ts';
import type { ActiveGuard } from '@rollcall/common/guards.ts';
import { type Service, type SingleCheck, saysOf } from '../model/services.ts';
import { type Counts, Guard, ruleOf } from './guard.ts';
import type { NodeRecord } from './node-record.ts';

/** A check of a service. */
export type Asked<C> = { check: C; service: Service };

/** What is seen of a check on a node. */
type Finding = {
  counts: Counts;
  /** What the node loses by the check, which tells one loss from the next; `undefined` while it loses nothing. */
  loss: string | undefined;
  /** What else in the verdict changes by time alone. */
  lasting?: string | undefined;
};

/** Since when a node loses something by a check. `isOver`: others with the same fault had the time to show it. */
export type Doubt = {
  sinceMs: number | undefined;
  loss?: string | undefined;
  isOver?: boolean;
  guard?: string | undefined;
};

const NO_DOUBT: Doubt = { sinceMs: undefined };

/** As of the last tick. `phase`: changes with what only time, or the guard, changes in the verdict. */
type Memory = { found: Finding; sinceMs: number; phase?: string; guard?: string | undefined };

export type DoubtsOptions<C> = {
  subject: 'reporters' | 'target';
  /** Share of the nodes, of all or of a pool, from which a loss is not held against a node. */
  guardPercent: number;
  /** The checks of all services that are judged here. */
  asked: () => readonly Asked<C>[];
  /** `counts`: as of the last finding. `undefined` on a node that the check is not for, or where nothing is known now. */
  find: (asked: Asked<C>, record: NodeRecord, now: Moment, counts: Counts | undefined) => Finding | undefined;
  /** The pool that has a guard of its own; `undefined` where only the fleet has one. */
  poolOf: (record: NodeRecord) => string | undefined;
  /** How long a loss waits in milliseconds. `countedMs`: after so much of it the guard counts it. */
  timesOf: (check: C) => { windowMs: number; countedMs: number };
  /** Whether the population was heard; no loss is over before. */
  isKnown: () => boolean;
  nameOf: (check: C, group: string) => string;
  /** The verdict on a check may be another one, because time has passed or a guard has changed. */
  onChange: (node: string) => void;
};

/**
 * Whether what checks find is held against nodes, in one term: a loss waits for its window, so that the guard counts those
 * that come with it, and for as long as the guard keeps the node.
 */
export class Doubts<C extends SingleCheck> {
  readonly #options: DoubtsOptions<C>;
  readonly #records: () => Iterable<NodeRecord>;
  /** By what a check says, as are the guards. */
  readonly #memories = new Map<string, WeakMap<NodeRecord, Memory>>();
  readonly #guards = new Map<string, { guard: Guard; check: C; isDryRun: boolean }>();
  #nowMs = Number.NEGATIVE_INFINITY;

  constructor(options: DoubtsOptions<C>, records: () => Iterable<NodeRecord>) {
    this.#options = options;
    this.#records = records;
  }

  /** As of the last tick. */
  of(check: C, record: NodeRecord): Doubt {
    const text = saysOf(check);
    const guard = this.#guards.get(text)?.guard.of(this.#options.poolOf(record));
    const memory = this.#memories.get(text)?.get(record);
    if (memory?.found.loss === undefined) return guard === undefined ? NO_DOUBT : { sinceMs: undefined, guard };
    const { found, sinceMs } = memory;
    return { loss: found.loss, sinceMs, isOver: this.#isOver(check, sinceMs), guard };
  }

  /** The guards that act now. One of dry runs alone is left out. */
  held(): ActiveGuard[] {
    const { subject, nameOf } = this.#options;
    return [...this.#guards.values()].flatMap(({ guard, check, isDryRun }) =>
      isDryRun ? [] : guard.held().map(({ of, nodes }) => ({ subject, of: nameOf(check, of), nodes })),
    );
  }

  /** Every loss begins anew: this replica had lost the API server. Who counts is known as before. */
  renewAll(nowMs: number): void {
    for (const record of this.#records())
      for (const memories of this.#memories.values()) {
        const memory = memories.get(record);
        if (memory) memory.sinceMs = nowMs;
      }
  }

  /** The pods or conditions of a node changed: what is seen again has no past. */
  see(record: NodeRecord, now: Moment): void {
    for (const [text, asked] of this.#alike()) this.#note(text, asked, { record, now });
  }

  /** Looks at every check on every node. To be called about once a second. */
  tick(now: Moment): void {
    this.#nowMs = now.monotonicMs;
    const alike = this.#alike();
    for (const known of [this.#guards, this.#memories])
      for (const text of known.keys()) if (!alike.has(text)) known.delete(text);
    for (const [text, asked] of alike) this.#look(text, asked, now);
  }

  /** Checks that say the same are one, on the nodes of all their services. */
  #alike(): Map<string, Asked<C>[]> {
    return Map.groupBy(this.#options.asked(), ({ check }) => saysOf(check));
  }

  #look(text: string, asked: readonly Asked<C>[], now: Moment): void {
    const { subject, guardPercent, poolOf, timesOf, onChange } = this.#options;
    const [{ check } = {}] = asked;
    if (!check) return;
    const guard = this.#guards.get(text)?.guard ?? new Guard(ruleOf(subject, guardPercent));
    this.#guards.set(text, { guard, check, isDryRun: asked.every(({ service }) => service.dryRun !== undefined) });
    const nowMs = now.monotonicMs;
    const { countedMs } = timesOf(check);
    const members = [...this.#records()].flatMap((record) => {
      const memory = this.#note(text, asked, { record, now });
      if (!memory) return [];
      const { found, sinceMs } = memory;
      const isLosing = found.loss !== undefined && nowMs - sinceMs >= countedMs;
      const renew = () => {
        memory.sinceMs = nowMs;
      };
      return { name: record.name, pool: poolOf(record), counts: found.counts, isLosing, memory, renew };
    });
    guard.judge(members);
    for (const { name, memory } of members) {
      const { found, sinceMs } = memory;
      const waits = this.#isOver(check, sinceMs) ? 'over' : 'waits';
      const phase = `${found.loss === undefined ? 'none' : (memory.guard ?? waits)} ${found.lasting}`;
      const isNews = memory.phase === undefined ? found.loss !== undefined : memory.phase !== phase;
      if (isNews) onChange(name);
      memory.phase = phase;
    }
  }

  /** Remembers since when it is as it is. */
  #note(text: string, asked: readonly Asked<C>[], { record, now }: { record: NodeRecord; now: Moment }) {
    const memories = this.#memories.get(text) ?? new WeakMap<NodeRecord, Memory>();
    const known = memories.get(record);
    const all = asked.flatMap((each) => this.#options.find(each, record, now, known?.found.counts) ?? []);
    const counting = all.find(({ counts }) => counts === 'always') ?? all[0];
    if (!counting) return undefined;
    const found = { ...counting, loss: all.find(({ loss }) => loss !== undefined)?.loss };
    const memory = known ?? { found, sinceMs: now.monotonicMs };
    if (memory.found.loss !== found.loss) memory.sinceMs = now.monotonicMs;
    memory.found = found;
    this.#memories.set(text, memories.set(record, memory));
    return memory;
  }

  #isOver(check: C, sinceMs: number): boolean {
    return this.#options.isKnown() && this.#nowMs - sinceMs >= this.#options.timesOf(check).windowMs;
  }
}
