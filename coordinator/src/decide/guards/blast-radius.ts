import type { HeldWithdrawals } from './held-withdrawals.ts';

/** So many nodes lose a label at once. */
export const AT_ONCE = 10;
/** Changes within this time may be one mistake. */
const TOGETHER_MS = 60_000;
/** The API server deletes the objects of a CRD or a namespace milliseconds after one another: the first is not alone. */
export const SETTLE_MS = 500;

/** A label that leaves nodes for something that somebody configured. */
type Departure = {
  startedMs: number;
  /** That have lost it, up to the number that may at once, and the objects because of which. */
  gone: Map<string, Owner>;
  held: Map<string, Owner>;
};

/** The object because of which a label is to leave; `undefined` where a flag is the cause. */
type Owner = string | undefined;

/**
 * Delays a label that would leave many nodes because of what was configured, so that somebody can notice: the first 10
 * lose it at once, all others when the delay is over. Where one single object was seen to change, the delay is as short as
 * it takes to see that no other follows. Every call is O(1), but for a tick and `held`, which are O(nodes that wait).
 */
export class BlastRadius {
  readonly #delayMs: number;
  readonly #departures = new Map<string, Departure>();
  /** When each object changed last; the first is the oldest. */
  readonly #changedMs = new Map<string, number>();
  /** When the last of several changes came. */
  #togetherMs = Number.NEGATIVE_INFINITY;

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
    if (this.#changedMs.size > 1) this.#togetherMs = nowMs;
  }

  /** Whether an object was changed a moment ago, so that what follows from it may be a mistake. */
  wasChanged(object: Owner, nowMs: number): boolean {
    this.#forgetChanges(nowMs);
    return object !== undefined && this.#changedMs.has(object);
  }

  /**
   * A label is to leave a node because of what `object` says, or no longer says. Returns until when it stays, if so.
   * Asking again for a node changes nothing. A NodeService that is first missed now was deleted while no coordinator ran.
   */
  holdsUntilMs({ node, key, object }: { node: string; key: string; object: Owner }, nowMs: number): number | undefined {
    this.#forgetChanges(nowMs);
    if (object !== undefined && isOfService(object) && !this.#departures.has(key)) this.changed([object], nowMs);
    const departure = this.#departures.get(key) ?? { startedMs: nowMs, gone: new Map(), held: new Map() };
    const untilMs = Math.min(departure.startedMs + this.#delayMs, this.#settlesMs(object));
    if (untilMs <= nowMs || departure.gone.has(node)) return undefined;
    this.#departures.set(key, departure);
    if (departure.gone.size < AT_ONCE) {
      departure.gone.set(node, object);
      return undefined;
    }
    departure.held.set(node, object);
    return untilMs;
  }

  /** The label is gone from the node, or leaves it for another cause. */
  settled(node: string, key: string): void {
    this.#departures.get(key)?.held.delete(node);
  }

  /** The label is to be on the node after all: should it leave once more, that is another departure. */
  returned(node: string, key: string): void {
    const departure = this.#departures.get(key);
    if (!departure) return;
    departure.held.delete(node);
    departure.gone.delete(node);
    if (departure.gone.size + departure.held.size === 0) this.#departures.delete(key);
  }

  /** Nodes whose labels have stayed for the delay. */
  tick(nowMs: number): string[] {
    const due: string[] = [];
    for (const [key, { startedMs, gone, held }] of this.#departures) {
      const isOver = nowMs >= startedMs + this.#delayMs;
      for (const [node, object] of held) {
        if (!isOver && nowMs < this.#settlesMs(object)) continue;
        due.push(node);
        held.delete(node);
      }
      // Those that a single change took are none of the first of many.
      for (const [node, object] of gone) if (nowMs >= this.#settlesMs(object)) gone.delete(node);
      // Until then, those that come late go at once, as they would have with the others.
      const isForgotten = nowMs >= startedMs + this.#delayMs + TOGETHER_MS;
      if (isForgotten || gone.size + held.size === 0) this.#departures.delete(key);
    }
    return due;
  }

  held(): HeldWithdrawals[] {
    const counted = [...this.#departures].map(([of, { held }]) => {
      // Of what may be the change of a single object nobody is told before that is known.
      const delayed = held.values().filter((object) => this.#settlesMs(object) === Number.POSITIVE_INFINITY);
      return { guard: 'blast-radius' as const, of, nodes: delayed.toArray().length };
    });
    return counted.filter(({ nodes }) => nodes > 0);
  }

  /** The Node is gone. */
  forget(node: string): void {
    for (const { held } of this.#departures.values()) held.delete(node);
  }

  /** From when on it is known that the change of an object was a single one; never where it was none. */
  #settlesMs(object: Owner): number {
    const changedMs = object === undefined ? undefined : this.#changedMs.get(object);
    const isSingle = changedMs !== undefined && changedMs > this.#togetherMs;
    return isSingle ? changedMs + SETTLE_MS : Number.POSITIVE_INFINITY;
  }

  #forgetChanges(nowMs: number): void {
    for (const [object, changedMs] of this.#changedMs) {
      if (nowMs - changedMs <= TOGETHER_MS) return;
      this.#changedMs.delete(object);
    }
  }
}

/** As the labeler of left-over keys names them: by the uid, or by the label where the uid is not known. */
function isOfService(object: string): boolean {
  return object.startsWith('service:') || object.startsWith('label ');
}
