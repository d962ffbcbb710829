import type { Clock } from '@rollcall/common/clock.ts';
import type { KubeRequest, KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { Fate } from './api-server/client.ts';
import { denied, invalid } from './api-server/refusals.ts';
import { valueOn } from './sights.ts';

const FIELDS: Readonly<Record<string, string>> = {
  label: 'metadata.labels',
  annotation: 'metadata.annotations',
  taint: 'spec.taints',
  condition: 'status.conditions',
};

/** A write that hangs ends within 10 s, and is repeated later and later. */
const HUNG_MS = 40_000;
/** So many writes are under way at once at first. */
const UNDER_WAY = 16;

/** What is wrong with the API server, by the clock of the model. */
export class Faults {
  readonly #clock: Clock;
  readonly #random: () => number;
  #outage: { untilMs: number; fate: () => Fate } = { untilMs: 0, fate: () => 'answered' };
  readonly #hungUntilMs = new Map<string, number>();
  /** Until when nothing can be expected to be as it should be. */
  troubledUntilMs = 0;
  /** The share of requests that get no answer. */
  sporadic = 0;
  /** Of pools whose Nodes a webhook holds up, until when each write to them hangs. */
  readonly hanging = new Map<string, number>();
  /** Of the keys that admission refuses (`label:KEY`, `taint:KEY`, `condition:TYPE`), until when. */
  readonly denied = new Map<string, number>();
  /** Of these, the keys that it calls invalid, with the field. */
  readonly #calledInvalid = new Set<string>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** For a while the API server answers like this; `graceMs` later all is to be well. */
  break(forMs: number, graceMs: number, fate: () => Fate): void {
    const untilMs = this.#clock.monotonic() + forMs;
    this.#outage = { untilMs, fate };
    this.troubledUntilMs = Math.max(this.troubledUntilMs, untilMs + graceMs);
  }

  heal(): void {
    this.#prolong(this.#clock.monotonic());
    this.#outage = { untilMs: 0, fate: () => 'answered' };
    this.sporadic = 0;
    this.hanging.clear();
    this.denied.clear();
  }

  /** Each write to Nodes of the pool hangs for a while. */
  hang(pool: string, forMs: number): void {
    const endsMs = this.#clock.monotonic() + forMs;
    this.hanging.set(pool, endsMs);
    this.#prolong(endsMs);
  }

  /** A Node to which a write hung has its turn once another write is answered, and those hang until then. */
  #prolong(endsMs: number): void {
    for (const [node, untilMs] of this.#hungUntilMs)
      if (this.#clock.monotonic() < untilMs) this.#hungUntilMs.set(node, Math.max(untilMs, endsMs + HUNG_MS));
  }

  /** Until when the Node may not be as it should be, since a write to it hung. */
  hungUntilMs(node: string): number {
    return this.#hungUntilMs.get(node) ?? 0;
  }

  /** The last of all these. */
  get allHungUntilMs(): number {
    return Math.max(0, ...this.#hungUntilMs.values());
  }

  /** Whether more writes hang than are under way at once at first, so that they could hold up others. */
  get manyHang(): boolean {
    const nowMs = this.#clock.monotonic();
    return [...this.#hungUntilMs.values()].filter((untilMs) => nowMs < untilMs).length >= UNDER_WAY;
  }

  /** What becomes of the next request, which concerns this Node of this pool. */
  fate({ method }: KubeRequest, { node, pool }: { node: string; pool: string }): Fate {
    const nowMs = this.#clock.monotonic();
    if (method === 'PATCH' && nowMs < (this.hanging.get(pool) ?? 0)) {
      this.#hungUntilMs.set(node, nowMs + HUNG_MS);
      return 'hangs';
    }
    if (nowMs < this.#outage.untilMs) return this.#outage.fate();
    if (this.#random() >= this.sporadic) return 'answered';
    return this.#random() < 0.5 ? 'lost' : 'unanswered';
  }

  /** Admission refuses changes of a key for a while: a policy, or a webhook that calls the field invalid. */
  refuse(id: string, forMs: number, by: 'policy' | 'webhook'): void {
    this.denied.set(id, this.#clock.monotonic() + forMs);
    if (by === 'webhook') this.#calledInvalid.add(id);
    else this.#calledInvalid.delete(id);
  }

  /** What admission answers to a change. */
  refusal(before: Node, after: Node): KubeStatusError | undefined {
    const { name } = after.metadata;
    for (const [id, untilMs] of this.denied) {
      if (this.#clock.monotonic() >= untilMs || valueOn(before, id) === valueOn(after, id)) continue;
      if (!this.#calledInvalid.has(id)) return denied(name, `no ${id}`);
      return invalid(name, [{ reason: 'FieldValueInvalid', field: FIELDS[id.slice(0, id.indexOf(':'))] ?? '' }]);
    }
    return undefined;
  }
}
