import type { HeldWithdrawals } from './held-withdrawals.ts';

/** So many nodes lose a label at once. */
export const AT_ONCE = 10;
/** Changes within this time may be one mistake. */
const TOGETHER_MS = 60_000;

/** A label that leaves nodes for something that somebody configured. */
type Departure = {
  startedMs: number;
  /** That have lost it, up to the number that may at once. */
  gone: Set<string>;
  held: Set<string>;
};

/**
 * Delays a label that would leave many nodes because of what was configured, so that somebody can notice: the first 10
 * lose it at once, all others when the delay is over. What one single object was changed for that was seen to change goes
 * at once. Every call is O(1), but for a tick, which is O(nodes whose time is over).
 */
export class BlastRadius {
  readonly #delayMs: number;
  readonly #departures = new Map<string, Departure>();
  /** When each object changed last; the first is the oldest. */
  readonly #changedMs = new Map<string, number>();

  /** A delay of 0 switches it off. */
  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  /** Objects that labels go by were changed, or are gone. */
  changed(objects: Iterable<string>, nowMs: number): void {
    for (const object of objects) {
      this.#changedMs.delete(object);
      this.#changedMs.set(object, nowMs);
    }
    this.#forgetChanges(nowMs);
  }

  /**
   * A label is to leave a node because of what `object` says, or no longer says. Returns until when it stays, if so.
   * Asking again for a node changes nothing.
   */
  holdsUntilMs(node: string, key: string, object: string, nowMs: number): number | undefined {
    if (this.#delayMs === 0 || this.#isAlone(object, nowMs)) return undefined;
    const departure = this.#departures.get(key) ?? { startedMs: nowMs, gone: new Set(), held: new Set() };
    this.#departures.set(key, departure);
    const untilMs = departure.startedMs + this.#delayMs;
    if (untilMs <= nowMs || departure.gone.has(node)) return undefined;
    if (departure.gone.size < AT_ONCE) {
      departure.gone.add(node);
      return undefined;
    }
    departure.held.add(node);
    return untilMs;
  }

  /** The label is to be on the node after all, or is gone from it. */
  settled(node: string, key: string): void {
    this.#departures.get(key)?.held.delete(node);
  }

  /** Nodes whose labels have stayed for the delay. */
  tick(nowMs: number): string[] {
    this.#forgetChanges(nowMs);
    const due: string[] = [];
    for (const [key, { startedMs, held }] of this.#departures) {
      if (nowMs < startedMs + this.#delayMs) continue;
      due.push(...held);
      held.clear();
      // Until then, those that come late go at once, as they would have with the others.
      if (nowMs >= startedMs + this.#delayMs + TOGETHER_MS) this.#departures.delete(key);
    }
    return due;
  }

  held(): HeldWithdrawals[] {
    const counted = [...this.#departures].map(([of, { held }]) => ({
      guard: 'blast-radius' as const,
      of,
      nodes: held.size,
    }));
    return counted.filter(({ nodes }) => nodes > 0);
  }

  /** The Node is gone. */
  forget(node: string): void {
    for (const { held } of this.#departures.values()) held.delete(node);
  }

  /** Whether it was seen to change, and nothing else was. */
  #isAlone(object: string, nowMs: number): boolean {
    this.#forgetChanges(nowMs);
    return this.#changedMs.size === 1 && this.#changedMs.has(object);
  }

  #forgetChanges(nowMs: number): void {
    for (const [object, changedMs] of this.#changedMs) {
      if (nowMs - changedMs <= TOGETHER_MS) return;
      this.#changedMs.delete(object);
    }
  }
}
