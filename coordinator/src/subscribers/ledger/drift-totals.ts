import type { Moment } from '@rollcall/common/clock.ts';
import type { AuditEntry, AuditKey, DriftDirection, KeyKind } from '@rollcall/common/console.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { Drift } from './drift.ts';

/** A node, for as long as it is the same one. */
type Subject = { readonly name: string };

type Entry = Drift & { closedMs: number; times: number; sinceMs: number | undefined };

/** Over all nodes, of one key in one direction. `sumSinceMs` is the sum over those that are open. */
type Total = {
  kind: KeyKind;
  key: string;
  service: string | undefined;
  direction: DriftDirection;
  closedMs: number;
  open: number;
  sumSinceMs: number;
};

/** Keys of pools, rules and devices are as many as people make them; beyond so many they are counted together. */
const KEYS_MAX = 500;
const OTHER_KEYS = 'other';
/** Drifts of a node that are remembered; those that are over go first, the oldest before others. */
const ENTRIES_MAX = 500;

/** Counts how long Nodes drifted: a drift begins when it is seen, and ends when it is seen no more. */
export class DriftTotals {
  readonly #entries = new Map<Subject, Map<string, Entry>>();
  readonly #totals = new Map<string, Total>();

  /** Everything that a node says now and that is not so. `nowMs` is monotonic, and never less than before. */
  saw(subject: Subject, drifts: readonly Drift[], nowMs: number): void {
    const known = this.#entries.get(subject);
    if (drifts.length === 0 && !known) return;
    const entries = known ?? new Map<string, Entry>();
    this.#entries.set(subject, entries);
    const seen = new Set<string>();
    for (const drift of drifts) {
      const id = idOf(drift);
      seen.add(id);
      const entry = entries.get(id) ?? { ...drift, closedMs: 0, times: 0, sinceMs: undefined };
      entries.set(id, entry);
      if (entry.sinceMs === undefined) this.#begin(entry, drift, nowMs);
    }
    for (const [id, entry] of entries) if (!seen.has(id)) this.#end(entry, nowMs);
    for (const [id, { sinceMs }] of entries) {
      if (entries.size <= ENTRIES_MAX) break;
      if (sinceMs === undefined) entries.delete(id);
    }
  }

  /** The node is gone. Its drifts still count for their keys. */
  forget(subject: Subject, nowMs: number): void {
    for (const entry of this.#entries.get(subject)?.values() ?? []) this.#end(entry, nowMs);
    this.#entries.delete(subject);
  }

  /** Seconds by key and direction, over all nodes there ever were. */
  *seconds(nowMs: number): Iterable<{ key: string; direction: DriftDirection; seconds: number }> {
    for (const total of this.#totals.values()) {
      yield { key: total.key, direction: total.direction, seconds: lastedMs(total, nowMs) / 1000 };
    }
  }

  /** The worst first. */
  keys(nowMs: number): AuditKey[] {
    const keys = new Map<string, AuditKey>();
    for (const total of this.#totals.values()) {
      const { kind, key, service, direction, open } = total;
      const id = `${kind}:${key}`;
      const named = service === undefined ? {} : { service };
      const before = keys.get(id) ?? { kind, key, ...named, saidReadySeconds: 0, saidNotReadySeconds: 0, nodesNow: 0 };
      const field = direction === 'said-ready' ? 'saidReadySeconds' : 'saidNotReadySeconds';
      keys.set(id, {
        ...before,
        [field]: before[field] + rounded(lastedMs(total, nowMs)),
        nodesNow: before.nodesNow + open,
      });
    }
    const sum = ({ saidReadySeconds, saidNotReadySeconds }: AuditKey) => saidReadySeconds + saidNotReadySeconds;
    return [...keys.values()].sort((a, b) => sum(b) - sum(a) || (a.key < b.key ? -1 : 1));
  }

  *entriesOf(subject: Subject, now: Moment): Iterable<AuditEntry> {
    for (const entry of this.#entries.get(subject)?.values() ?? []) {
      const { kind, key, service, direction, cause, closedMs, times, sinceMs, evidence } = entry;
      const openMs = sinceMs === undefined ? 0 : now.monotonicMs - sinceMs;
      yield {
        node: subject.name,
        kind,
        key,
        ...(service === undefined ? {} : { service }),
        direction,
        cause,
        seconds: rounded(closedMs + openMs),
        times,
        ...(sinceMs === undefined ? {} : { since: rfc3339(now.wallMs - openMs) }),
        evidence,
      };
    }
  }

  #begin(entry: Entry, { evidence }: Drift, nowMs: number): void {
    entry.sinceMs = nowMs;
    entry.times += 1;
    entry.evidence = evidence;
    const total = this.#totalOf(entry);
    total.open += 1;
    total.sumSinceMs += nowMs;
  }

  #end(entry: Entry, nowMs: number): void {
    if (entry.sinceMs === undefined) return;
    const total = this.#totalOf(entry);
    total.open -= 1;
    total.sumSinceMs -= entry.sinceMs;
    total.closedMs += nowMs - entry.sinceMs;
    entry.closedMs += nowMs - entry.sinceMs;
    entry.sinceMs = undefined;
  }

  #totalOf({ kind, key, service, direction }: Entry): Total {
    const id = `${kind}:${key}:${direction}`;
    const known = this.#totals.get(id);
    if (known) return known;
    const isFull = this.#totals.size >= KEYS_MAX;
    const total = { kind, key, service, direction, closedMs: 0, open: 0, sumSinceMs: 0 };
    if (!isFull) {
      this.#totals.set(id, total);
      return total;
    }
    const otherId = `${OTHER_KEYS}:${direction}`;
    const other = this.#totals.get(otherId) ?? { ...total, key: OTHER_KEYS, service: undefined };
    this.#totals.set(otherId, other);
    return other;
  }
}

function idOf({ kind, key, direction, cause }: Drift): string {
  return `${kind}:${key}:${direction}:${cause}`;
}

function lastedMs({ closedMs, open, sumSinceMs }: Total, nowMs: number): number {
  return closedMs + open * nowMs - sumSinceMs;
}

/** To the hundredth of a second. */
function rounded(ms: number): number {
  return Math.round(ms / 10) / 100;
}
