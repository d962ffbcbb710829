import { randomBytes } from 'node:crypto';

/** An event as it is sent, but for its id. */
export type StreamEvent = { name: string; data: string };

type LoggedEvent = StreamEvent & { id: string };

/**
 * The last events, in their order, for readers that come back or cannot keep up. An id belongs to one run of the log:
 * ids of another replica or another term are unknown.
 */
export class EventLog {
  readonly #eventsMax: number;
  /** The event with the number n is at n modulo the maximum. */
  readonly #events: LoggedEvent[] = [];
  #run = newRun();
  /** The number of the next event. */
  #next = 1;
  /** The number of the oldest event that is kept. */
  #first = 1;

  constructor(eventsMax: number) {
    this.#eventsMax = eventsMax;
  }

  add(event: StreamEvent): void {
    this.#events[this.#next % this.#eventsMax] = { ...event, id: this.#idOf(this.#next) };
    this.#next += 1;
    this.#first = Math.max(this.#first, this.#next - this.#eventsMax);
  }

  /** Starts a new run: no reader can continue after an event from before. */
  restart(): void {
    this.#run = newRun();
    this.#events.length = 0;
    this.#first = this.#next;
  }

  /** The id of the last event. */
  get lastId(): string {
    return this.#idOf(this.#next - 1);
  }

  /** The cursor of a reader that has seen the event with this id; `undefined` if later events were dropped. */
  cursorAfter(id: string): number | undefined {
    const [, run, digits] = /^([0-9a-f]+)\.(\d{1,15})$/.exec(id) ?? [];
    const cursor = Number(digits) + 1;
    return run === this.#run && this.isKnown(cursor) ? cursor : undefined;
  }

  /** The cursor of a reader that has seen everything. */
  get end(): number {
    return this.#next;
  }

  /** Whether all events from the cursor on are kept. */
  isKnown(cursor: number): boolean {
    return cursor >= this.#first && cursor <= this.#next;
  }

  at(cursor: number): LoggedEvent | undefined {
    return cursor < this.#next && cursor >= this.#first ? this.#events[cursor % this.#eventsMax] : undefined;
  }

  #idOf(number: number): string {
    return `${this.#run}.${number}`;
  }
}

function newRun(): string {
  return randomBytes(6).toString('hex');
}
