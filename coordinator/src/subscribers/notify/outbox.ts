import { Backoff } from '@rollcall/common/backoff.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import {
  type Doubt,
  doubtAfter,
  NO_DOUBT,
  NO_METADATA,
  type NodeChange,
  type NodeMetadata,
  nodeChange,
} from './node-change.ts';
import type { PostOutcome } from './poster.ts';

/** A node as it is now. */
export type NotifiedNode = NodeMetadata & { name: string; uid: string };

export type OutboxOptions = {
  /** Never rejects. */
  post: (change: NodeChange, signal: AbortSignal) => Promise<PostOutcome>;
  /** Called after each message. `allWell`: no node is left whose last message failed. */
  onOutcome: (outcome: PostOutcome, allWell: boolean) => void;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  /** Ends everything: nothing is sent any more. */
  signal: AbortSignal;
};

/** What the receiver acknowledged of a node, from when it is first seen until it goes. */
type Delivery = {
  now: NodeMetadata & { uid: string };
  acknowledged: NodeMetadata;
  doubt: Doubt;
  /** Present while its last message has failed. */
  backoff: Backoff | undefined;
  /** Monotonic, in milliseconds. */
  notBeforeMs: number;
};

/** Messages at once, while the receiver takes them; one while it does not. */
export const SEATS = 4;
/** A message takes up its seat for as long at least, which makes 100 messages a second. */
const SEAT_MS = 40;
/** Between two messages about one node, so that what comes and goes quickly is told together. */
const NODE_SPACING_MS = 1000;
const RETRY = { baseMs: 500, maxMs: 60_000 };

/**
 * What one receiver has still to be told. A message is made when it is sent, out of what the receiver knows and what is
 * so by then: for a node that changes a hundred times during an outage one is sent, or none if it is as it was.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #deliveries = new Map<string, Delivery>();
  /** A node with news is in one of these three. */
  readonly #ready = new Set<string>();
  /** With what cancels the waiting. */
  readonly #waiting = new Map<string, () => void>();
  readonly #sending = new Set<string>();
  readonly #troubled = new Set<string>();
  /**
   * Backoff for the receiver as a whole, besides the backoff of each node: a node that is always refused does not delay
   * the others.
   */
  readonly #backoff: Backoff;
  #seatsTaken = 0;
  #pause: { untilMs: number; cancel: () => void } | undefined;
  #pauses = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ ...RETRY, random: options.random });
    options.signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  /** How many nodes have news that the receiver has not taken yet. */
  get pending(): number {
    return this.#ready.size + this.#waiting.size + this.#sending.size;
  }

  /** Takes note of how a node is now. The records are kept by reference, and must not change. */
  offer({ name, uid, labels, annotations }: NotifiedNode): void {
    if (this.#options.signal.aborted) return;
    const delivery = this.#deliveries.get(name);
    const now = { uid, labels, annotations };
    if (delivery?.now.uid !== uid) {
      this.gone(name);
      this.#deliveries.set(name, {
        now,
        acknowledged: NO_METADATA,
        doubt: NO_DOUBT,
        backoff: undefined,
        notBeforeMs: 0,
      });
    } else if (delivery.now.labels === labels && delivery.now.annotations === annotations) return;
    else delivery.now = now;
    this.#enqueue(name);
  }

  /** Forgets a node without a message. One that is on its way goes on. */
  gone(name: string): void {
    this.#deliveries.delete(name);
    this.#ready.delete(name);
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
    this.#troubled.delete(name);
  }

  #enqueue(name: string): void {
    const delivery = this.#deliveries.get(name);
    if (!delivery || this.#ready.has(name) || this.#waiting.has(name) || this.#sending.has(name)) return;
    if (!this.#changeOf(name, delivery)) return;
    const { clock } = this.#options;
    const delayMs = delivery.notBeforeMs - clock.monotonic();
    const wake = () => this.#wake(name);
    if (delayMs > 0) this.#waiting.set(name, clock.after(delayMs, wake));
    else wake();
  }

  #wake(name: string): void {
    this.#waiting.delete(name);
    this.#ready.add(name);
    this.#fillSeats();
  }

  /** What is to be said of a node. If nothing is, what was told is what is now, and one record of it is kept. */
  #changeOf(name: string, delivery: Delivery): NodeChange | undefined {
    const change = nodeChange(name, delivery.acknowledged, delivery.now, delivery.doubt);
    if (change) return change;
    delivery.acknowledged = delivery.now;
    delivery.backoff = undefined;
    this.#troubled.delete(name);
    return undefined;
  }

  #fillSeats(): void {
    for (const name of this.#ready) {
      if (this.#pause || this.#seatsTaken >= (this.#backoff.attempts > 0 ? 1 : SEATS)) return;
      this.#ready.delete(name);
      const delivery = this.#deliveries.get(name);
      const change = delivery && this.#changeOf(name, delivery);
      if (change) void this.#deliver(name, delivery, change);
    }
  }

  async #deliver(name: string, delivery: Delivery, change: NodeChange): Promise<void> {
    const { post, onOutcome, clock, signal } = this.#options;
    const sent = delivery.now;
    const startMs = clock.monotonic();
    const pauses = this.#pauses;
    this.#seatsTaken += 1;
    this.#sending.add(name);
    const outcome = await post(change, signal);
    if (signal.aborted) return;
    this.#sending.delete(name);
    if (outcome.taken === 'yes') {
      delivery.acknowledged = sent;
      delivery.doubt = NO_DOUBT;
      delivery.backoff = undefined;
      delivery.notBeforeMs = startMs + NODE_SPACING_MS;
      this.#backoff.reset();
    } else {
      if (outcome.taken === 'maybe') delivery.doubt = doubtAfter(change);
      delivery.backoff ??= new Backoff({ ...RETRY, random: this.#options.random });
      delivery.notBeforeMs = clock.monotonic() + delivery.backoff.next();
      // Those that were on their way together failed for one reason, which counts once.
      this.#pauseFor(Math.max(pauses === this.#pauses ? this.#backoff.next() : 0, outcome.retryAfterMs));
    }
    // It may have gone meanwhile, or be another by now.
    if (this.#deliveries.get(name) === delivery) this.#setTroubled(name, delivery.backoff !== undefined);
    onOutcome(outcome, this.#troubled.size === 0);
    this.#enqueue(name);
    const restMs = startMs + SEAT_MS - clock.monotonic();
    if (restMs > 0) clock.after(restMs, () => this.#leaveSeat());
    else this.#leaveSeat();
  }

  #setTroubled(name: string, isTroubled: boolean): void {
    if (isTroubled) this.#troubled.add(name);
    else this.#troubled.delete(name);
  }

  #leaveSeat(): void {
    this.#seatsTaken -= 1;
    this.#fillSeats();
  }

  #pauseFor(delayMs: number): void {
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + delayMs;
    this.#pauses += 1;
    if (untilMs <= (this.#pause?.untilMs ?? 0)) return;
    this.#pause?.cancel();
    const cancel = clock.after(delayMs, () => {
      this.#pause = undefined;
      this.#fillSeats();
    });
    this.#pause = { untilMs, cancel };
  }

  #end(): void {
    this.#pause?.cancel();
    for (const cancel of this.#waiting.values()) cancel();
    for (const each of [this.#deliveries, this.#ready, this.#waiting, this.#sending, this.#troubled]) each.clear();
  }
}
