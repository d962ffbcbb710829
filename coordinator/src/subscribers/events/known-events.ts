import type { EventNews } from './event-news.ts';
import type { EventRecord } from './event-object.ts';

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
