import type { Moment } from '@rollcall/common/clock.ts';
import type { ActiveGuard } from '@rollcall/common/guards.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { ruleOf } from '../../state/guard.ts';
import type { Claim, EvaluatedNode } from '../labelers/labeler.ts';

/** How many nodes may lose a label at once, and which share of those that have it without a delay. */
const RULE = ruleOf('configuration');
export const AT_ONCE = RULE.few;
/** Changes within this time may be one mistake. */
const TOGETHER_MS = 60_000;
/** The API server deletes the objects of a CRD or a namespace milliseconds after one another: the first is not alone. */
export const SETTLE_MS = 500;

/** A label that leaves nodes because the configuration changed. */
type Departure = {
  /** Nodes that have lost it, with the time and the object because of which: within a minute, or since others wait. */
  gone: Map<string, { object: Owner; atMs: number }>;
  /** Nodes that wait, and the objects because of which. */
  held: Map<string, Owner>;
  /** When the last of them came. */
  lastHeldMs: number;
  /** How many nodes had the label when the first of them came. */
  had: number;
  /** When all of them lose it; infinite while no node has waited. */
  untilMs: number;
};

/** The object because of which a label is to leave; `undefined` where a flag is the cause. */
type Owner = string | undefined;

/** A label that is to leave a node because of what `object` says, or no longer says. */
export type Removal = { node: string; key: string; object: Owner };

/**
 * Delays the removal of a label from many nodes after a change of the configuration, so that a person can notice: the
 * first 10 nodes lose it at once, all others when the delay is over. The delay is only as long as it takes to see that
 * no other changes follow, if no more than 20 % of its nodes would lose it within a minute, or if a single object was
 * seen to change. Every call is O(1), except `tick` and `held`, which are O(waiting nodes), and the query for the first
 * node that waits, which is O(nodes).
 */
export class BlastRadius {
  readonly #delayMs: number;
  readonly #nodesWith: (label: string) => Iterable<string>;
  readonly #departures = new Map<string, Departure>();
  /** When each object changed last; the first is the oldest. */
  readonly #changedMs = new Map<string, number>();
  /** When the last of several changes came. */
  #togetherMs = Number.NEGATIVE_INFINITY;

  /** A delay of 0 switches it off. `nodesWith` returns the nodes that have a label. */
  constructor(delayMs: number, nodesWith: (label: string) => Iterable<string>) {
    this.#delayMs = delayMs;
    this.#nodesWith = nodesWith;
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
    return this.#changeMs(object, nowMs) !== undefined;
  }

  /** Whether nodes lose this label, or wait for it. */
  isDeparting(key: string): boolean {
    return this.#departures.has(key);
  }

  /** Whether the label waits on a node. */
  isWaiting(node: string, key: string): boolean {
    return this.#departures.get(key)?.held.has(node) === true;
  }

  /** Until when a label that is to leave a node stays there; `undefined` if it may go now. Changes nothing. */
  heldUntilMs(removal: Removal, nowMs: number): number | undefined {
    const untilMs = this.#endOf(removal, nowMs);
    return untilMs > nowMs ? untilMs : undefined;
  }

  /** The label is about to leave the node, or to stay there, as `heldUntilMs` says. To record it again changes nothing. */
  record(removal: Removal, nowMs: number): void {
    const { node, key, object } = removal;
    if (this.#delayMs === 0) return;
    const untilMs = this.#endOf(removal, nowMs);
    if (object !== undefined && this.#isFirstMissed(removal)) this.changed([object], nowMs);
    const departure = this.#departures.get(key) ?? newDeparture();
    const { gone, held } = departure;
    if (gone.has(node) || this.#settlesMs(object, nowMs) <= nowMs) return;
    this.#departures.set(key, departure);
    if (untilMs <= nowMs) {
      held.delete(node);
      gone.set(node, { object, atMs: nowMs });
    } else if (!held.has(node)) {
      Object.assign(departure, this.#delayOf(departure, key, nowMs), { lastHeldMs: nowMs });
      held.set(node, object);
    }
  }

  /** The label is gone from the node, or leaves it for another cause. */
  settled(node: string, key: string): void {
    this.#departures.get(key)?.held.delete(node);
  }

  /** The label is to be on the node after all: should it leave once more, that is another departure. */
  returned(node: string, key: string): void {
    const departure = this.#departures.get(key);
    if (!departure) return;
    const { held, gone } = departure;
    held.delete(node);
    // What it left for is back: who loses it from now on is not late.
    if (gone.delete(node) && held.size === 0) departure.untilMs = Number.POSITIVE_INFINITY;
    if (gone.size + held.size === 0) this.#departures.delete(key);
  }

  /** Nodes that wait no longer. */
  tick(nowMs: number): string[] {
    const due: string[] = [];
    for (const [key, departure] of this.#departures) {
      const { gone, held } = departure;
      for (const [node, object] of held) {
        if (nowMs < endMs(departure, this.#settlesMs(object, nowMs), countOf(departure))) continue;
        due.push(node);
        held.delete(node);
        gone.set(node, { object, atMs: nowMs });
      }
      // No node waits any more: the next one waits for the whole delay.
      if (held.size === 0 && nowMs < departure.untilMs) departure.untilMs = Number.POSITIVE_INFINITY;
      const isUndelayed = departure.untilMs === Number.POSITIVE_INFINITY;
      for (const [node, { object, atMs }] of gone) {
        // Nodes that a single change took do not count among the first of many.
        if (nowMs >= this.#settlesMs(object, nowMs) || (isUndelayed && nowMs - atMs > TOGETHER_MS)) gone.delete(node);
      }
      // Until then, nodes that come late lose it at once, like the others.
      const isForgotten = nowMs >= departure.untilMs + TOGETHER_MS;
      if (isForgotten || gone.size + held.size === 0) this.#departures.delete(key);
    }
    return due;
  }

  held(nowMs: number): ActiveGuard[] {
    const counted = [...this.#departures].map(([of, departure]) => {
      // A delay is not reported before it is clear that many nodes would lose the label, by more than a single object.
      const isDelayed = (object: Owner) => this.#settlesMs(object, nowMs) === Number.POSITIVE_INFINITY;
      const nodes = isOfFew(departure, countOf(departure))
        ? 0
        : departure.held.values().filter(isDelayed).toArray().length;
      return { subject: 'configuration' as const, of, nodes };
    });
    return counted.filter(({ nodes }) => nodes > 0);
  }

  /** The Node is gone. */
  forget(node: string): void {
    for (const { held } of this.#departures.values()) held.delete(node);
  }

  /** Until when the label stays on the node: not beyond now if it may go. */
  #endOf(removal: Removal, nowMs: number): number {
    const { node, key, object } = removal;
    const settlesMs = this.#isFirstMissed(removal)
      ? this.#settlesAfter(nowMs, this.#hasChanges(nowMs, object))
      : this.#settlesMs(object, nowMs);
    const departure = this.#departures.get(key) ?? newDeparture();
    const { gone, held } = departure;
    if (this.#delayMs === 0 || gone.has(node) || settlesMs <= nowMs) return nowMs;
    if (held.has(node)) return endMs(departure, settlesMs, countOf(departure));
    if (gone.size < AT_ONCE) return nowMs;
    return endMs({ ...this.#delayOf(departure, key, nowMs), lastHeldMs: nowMs }, settlesMs, countOf(departure) + 1);
  }

  /** How long the nodes of a departure wait once one of them does, and how many had the label. */
  #delayOf({ untilMs, had, gone }: Departure, key: string, nowMs: number): Pick<Departure, 'untilMs' | 'had'> {
    if (untilMs !== Number.POSITIVE_INFINITY) return { untilMs, had };
    return { untilMs: nowMs + this.#delayMs, had: new Set([...this.#nodesWith(key), ...gone.keys()]).size };
  }

  /** Whether this is the first node that misses a NodeService: it was deleted while no coordinator ran. */
  #isFirstMissed({ key, object }: Removal): boolean {
    return object !== undefined && isOfService(object) && !this.#departures.has(key);
  }

  /** From when on it is known that the change of an object was a single one; never where it was none. */
  #settlesMs(object: Owner, nowMs: number): number {
    const changedMs = this.#changeMs(object, nowMs);
    return changedMs === undefined ? Number.POSITIVE_INFINITY : this.#settlesAfter(changedMs, false);
  }

  #settlesAfter(changedMs: number, isOneOfSeveral: boolean): number {
    const isSingle = !isOneOfSeveral && changedMs > this.#togetherMs;
    return isSingle ? changedMs + SETTLE_MS : Number.POSITIVE_INFINITY;
  }

  #changeMs(object: Owner, nowMs: number): number | undefined {
    const changedMs = object === undefined ? undefined : this.#changedMs.get(object);
    return changedMs !== undefined && nowMs - changedMs <= TOGETHER_MS ? changedMs : undefined;
  }

  #hasChanges(nowMs: number, besides: Owner): boolean {
    return this.#changedMs.keys().some((object) => object !== besides && this.#changeMs(object, nowMs) !== undefined);
  }

  #forgetChanges(nowMs: number): void {
    for (const [object, changedMs] of this.#changedMs) {
      if (nowMs - changedMs <= TOGETHER_MS) return;
      this.#changedMs.delete(object);
    }
  }
}

function newDeparture(): Departure {
  return { gone: new Map(), held: new Map(), lastHeldMs: 0, had: 0, untilMs: Number.POSITIVE_INFINITY };
}

/** Until when a node of a departure waits, of which so many nodes lose the label. */
function endMs(
  { untilMs, had, lastHeldMs }: Pick<Departure, 'untilMs' | 'had' | 'lastHeldMs'>,
  settlesMs: number,
  count: number,
): number {
  const fewMs = isOfFew({ had }, count) ? lastHeldMs + SETTLE_MS : Number.POSITIVE_INFINITY;
  return Math.min(untilMs, settlesMs, fewMs);
}

function countOf({ gone, held }: Departure): number {
  return gone.size + held.size;
}

/** Whether no more nodes would lose the label than may without a delay. */
function isOfFew({ had }: Pick<Departure, 'had'>, count: number): boolean {
  return 100 * count <= RULE.sharePercent * had;
}

/**
 * Whether the object is a service, as the labeler of left-over keys names it: by the uid, or by the label if the uid is
 * unknown.
 */
function isOfService(object: string): boolean {
  return object.startsWith('service:') || object.startsWith('label ');
}

/** Gets, for a label, what records its removal or its return once the plan is written; the last one counts. */
export type Note = (key: string, record: (() => void) | undefined) => void;

/**
 * The stage between what is wanted of a node and what is planned: sees every label that is to leave, with its cause, and
 * keeps those for now that many nodes would lose for what was configured. Taints and conditions never wait. Changes
 * nothing: `note` gets what is to be recorded.
 */
export function guardRemoval<C extends Claim>(
  entry: C,
  node: EvaluatedNode,
  { guard, now, note }: { guard: BlastRadius; now: Moment; note: Note },
): C {
  if (entry.kind !== 'label') return entry;
  const { key, cause, object } = entry;
  const value = node.labels[key];
  const isDeparting = guard.isDeparting(key);
  if (entry.stance !== 'absent') {
    // A label that is kept and is not there has not returned, and where it waits, it waits on: it is not known to be wanted.
    const isKept = value !== undefined && !guard.isWaiting(node.name, key);
    const isBack = isDeparting && (entry.stance === 'present' || isKept);
    note(key, isBack ? () => guard.returned(node.name, key) : undefined);
    return entry;
  }
  const isConfigured = cause === 'configuration' || guard.wasChanged(object, now.monotonicMs);
  if (value === undefined || !isConfigured || !isOurs(entry, node)) {
    note(key, isDeparting ? () => guard.settled(node.name, key) : undefined);
    return entry;
  }
  const removal = { node: node.name, key, object };
  note(key, () => guard.record(removal, now.monotonicMs));
  const untilMs = guard.heldUntilMs(removal, now.monotonicMs);
  if (untilMs === undefined) return entry;
  const until = rfc3339(now.wallMs + untilMs - now.monotonicMs);
  const reason = `${entry.reason}; stays until ${until}, since many nodes would lose it at once`;
  return { ...entry, value, stance: 'keep', reason };
}

/** Whether withholding the label removes it from the node. */
function isOurs({ key, ownership }: Claim, { ownedLabels, sharedLabels }: EvaluatedNode): boolean {
  return ownership === 'exclusive' || (ownedLabels.has(key) && !sharedLabels.has(key));
}
