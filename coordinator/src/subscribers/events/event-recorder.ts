import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { TokenBuckets } from '@rollcall/common/token-bucket.ts';
import { boundedMessage, type EventNews, type EventRecord, eventName } from './event-object.ts';
import { type Delivery, EventSender, type EventSenderOptions } from './event-sender.ts';
import { createEventMetrics, type EventMetrics } from './metrics.ts';

export type EventRecorderOptions = EventSenderOptions & {
  /** While it returns true, Events wait: there is something more important to send. */
  mustYield: () => boolean;
  logger: Logger;
  registry: Registry;
};

/** What client-go allows for one object: so many Events at once, and one more every so often. */
const BURST = 25;
const REFILL_MS = 300_000;
/** Most objects that are remembered. One that is forgotten has its whole budget again. */
const SUBJECTS_MAX = 8192;
/** Most Events that wait to be sent. */
const QUEUE_MAX = 3000;
const YIELD_MS = 100;
/** They wait no longer than this, however much there is to do; from then on one is sent after the other. */
const YIELD_MAX_MS = 30_000;
const CONCURRENCY = 4;

/** Turns news into Kubernetes Events, as well as it can be done without holding up anything. Ends with its signal. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #metrics: EventMetrics;
  readonly #sender: EventSender;
  readonly #known = new KnownEvents();
  readonly #budget = new TokenBuckets({ burst: BURST, intervalMs: REFILL_MS, keysMax: SUBJECTS_MAX });
  readonly #queue: KnownEvent[] = [];
  #seatsTaken = 0;
  #yieldedSinceMs: number | undefined;
  #recheck: (() => void) | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#metrics = createEventMetrics(options.registry);
    this.#sender = new EventSender(options);
  }

  /** Takes note and returns at once. What may not be written, or is too much, is counted and forgotten. */
  record(news: EventNews): void {
    const { clock, requests } = this.#options;
    if (!requests.mayBegin) {
      this.#metrics.countNews('dropped', 1);
      return;
    }
    const bounded = { ...news, message: boundedMessage(news.message) };
    const nowMs = clock.monotonic();
    const known = this.#known.see(bounded, nowMs);
    if (known) {
      known.count += 1;
      known.lastMs = clock.now();
    }
    // News that goes along with a request that is due anyway costs nothing.
    const isDue = known !== undefined && known.unsent > 0;
    if (!isDue && this.#budget.take(news.subject.uid, nowMs) > 0) {
      this.#metrics.countNews('suppressed', 1);
      return;
    }
    const event = known ?? this.#firstOf(bounded, nowMs);
    event.unsent += 1;
    if (event.state === 'idle') this.#enqueue(event);
  }

  #firstOf(news: EventNews, nowMs: number): KnownEvent {
    const { clock, random } = this.#options;
    const wallMs = clock.now();
    const event: KnownEvent = {
      ...news,
      name: eventName(news.subject.name, wallMs, random()),
      firstMs: wallMs,
      lastMs: wallMs,
      count: 1,
      state: 'idle',
      stored: false,
      unsent: 0,
    };
    this.#known.add(event, nowMs);
    return event;
  }

  #enqueue(event: KnownEvent): void {
    event.state = 'queued';
    this.#queue.push(event);
    this.#fillSeats();
    if (this.#queue.length > QUEUE_MAX) this.#drop(this.#queue.shift());
  }

  #fillSeats(): void {
    while (this.#queue.length > 0 && this.#seatsTaken < this.#seats()) {
      const event = this.#queue.shift();
      if (!event) return;
      this.#seatsTaken += 1;
      event.state = 'sending';
      void this.#deliver(event);
    }
  }

  /** How many requests may be under way. Where that is none, the Events are looked at again by themselves. */
  #seats(): number {
    const { clock, mustYield } = this.#options;
    if (!mustYield()) {
      this.#yieldedSinceMs = undefined;
      return CONCURRENCY;
    }
    const nowMs = clock.monotonic();
    this.#yieldedSinceMs ??= nowMs;
    if (nowMs - this.#yieldedSinceMs >= YIELD_MAX_MS) return 1;
    this.#recheck ??= clock.after(YIELD_MS, () => {
      this.#recheck = undefined;
      this.#fillSeats();
    });
    return 0;
  }

  async #deliver(event: KnownEvent): Promise<void> {
    const delivery = await this.#sender.send(event);
    this.#count(event, delivery);
    event.state = 'idle';
    this.#seatsTaken -= 1;
    if (event.unsent > 0) this.#enqueue(event);
    else this.#fillSeats();
  }

  #count(event: KnownEvent, delivery: Delivery): void {
    if (delivery.kind !== 'created') this.#metrics.countNews(delivery.kind, delivery.news);
    else {
      this.#metrics.countNews('created', 1);
      this.#metrics.countNews('raised', delivery.news - 1);
    }
    if (delivery.kind !== 'failed') return;
    const { subject, reason } = event;
    this.#options.logger.debug(
      { err: delivery.error, kind: subject.kind, name: subject.name, reason },
      'Lost an event',
    );
  }

  /** What was to be told stays in the count, for the next time. */
  #drop(event: KnownEvent | undefined): void {
    if (!event) return;
    this.#metrics.countNews('dropped', event.unsent);
    event.unsent = 0;
    event.state = 'idle';
  }
}

/** An Event that the same news raises, and how far the API server knows of it. */
export type KnownEvent = EventRecord & {
  state: 'idle' | 'queued' | 'sending';
  /** Whether the API server has it, as far as is known. */
  stored: boolean;
  /** How much news no request has carried yet. */
  unsent: number;
};

type Entry = { event: KnownEvent; seenAtMs: number };

/** How long after the last time the same news is the same Event. */
const SAME_FOR_MS = 600_000;
/** As many as client-go remembers. */
const EVENTS_MAX = 4096;

/** The Events of the last minutes, by what they say; the one that was not seen for longest goes first. */
export class KnownEvents {
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** The Event of the same news, if it was last seen within 10 minutes; it is seen now. `nowMs` is monotonic. */
  see(news: EventNews, nowMs: number): KnownEvent | undefined {
    const entry = this.#entries.get(keyOf(news));
    if (!entry || nowMs - entry.seenAtMs > SAME_FOR_MS) return undefined;
    this.add(entry.event, nowMs);
    return entry.event;
  }

  add(event: KnownEvent, nowMs: number): void {
    const key = keyOf(event);
    this.#entries.delete(key);
    this.#entries.set(key, { event, seenAtMs: nowMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= EVENTS_MAX) break;
      this.#entries.delete(oldest);
    }
  }
}

function keyOf({ subject, type, reason, message }: EventNews): string {
  return `${subject.uid} ${type} ${reason} ${message}`;
}
