import type { Writable } from 'node:stream';
import type { Clock } from '@rollcall/common/clock.ts';
import { EventLog, type StreamEvent } from './event-log.ts';

/** All nodes of a large fleet may change at once. */
const EVENTS_MAX = 8192;
/** Longer without a word, and what stands between may take the connection for dead. */
const SIGN_OF_LIFE_MS = 15_000;
const SLICE_EVENTS = 64;
/** The cursor of a reader that has to begin anew. */
const NOWHERE = -1;

export type Reader = {
  to: Writable;
  /** The last event that it has seen; `undefined` for one that begins with what comes. */
  after: string | undefined;
};

/**
 * Sends events to readers. For each reader only its position is kept: a slow reader receives later what it missed, and
 * one that is too slow is told to begin anew.
 */
export class EventStream {
  readonly #log = new EventLog(EVENTS_MAX);
  readonly #clock: Clock;
  readonly #greeting: () => StreamEvent;
  readonly #readers = new Set<{ cursor: number; to: Writable; isPumping: boolean }>();

  /** `greeting`: what every reader is told first. */
  constructor(clock: Clock, greeting: () => StreamEvent) {
    this.#clock = clock;
    this.#greeting = greeting;
  }

  get lastId(): string {
    return this.#log.lastId;
  }

  get readers(): number {
    return this.#readers.size;
  }

  add(event: StreamEvent): void {
    this.#log.add(event);
    for (const reader of this.#readers) void this.#pump(reader);
  }

  /** Starts anew: events that were sent before are no longer valid. */
  restart(): void {
    this.#log.restart();
    for (const reader of this.#readers) {
      reader.cursor = NOWHERE;
      void this.#pump(reader);
    }
  }

  /** Goes on until the reader is gone. */
  open({ to, after }: Reader): void {
    const known = after === undefined ? this.#log.end : this.#log.cursorAfter(after);
    // An event without an id: it does not move where the reader is.
    to.write(`retry: 1000\n${textOf(this.#greeting())}`);
    const reader = { cursor: known ?? NOWHERE, to, isPumping: false };
    this.#readers.add(reader);
    const stop = this.#keepAlive(to);
    to.once('close', () => {
      stop();
      this.#readers.delete(reader);
    });
    void this.#pump(reader);
  }

  async #pump(reader: { cursor: number; to: Writable; isPumping: boolean }): Promise<void> {
    if (reader.isPumping) return;
    reader.isPumping = true;
    const { to } = reader;
    for (let sent = 1; !to.destroyed; sent += 1) {
      if (!this.#log.isKnown(reader.cursor)) {
        reader.cursor = this.#log.end;
        const { lastId } = this.#log;
        to.write(`id: ${lastId}\n${textOf({ name: 'reset', data: JSON.stringify({ eventId: lastId }) })}`);
      }
      const event = this.#log.at(reader.cursor);
      if (!event) break;
      reader.cursor += 1;
      if (!to.write(`id: ${event.id}\n${textOf(event)}`)) await drained(to);
      else if (sent % SLICE_EVENTS === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    reader.isPumping = false;
  }

  #keepAlive(to: Writable): () => void {
    let cancel = () => {};
    const next = () => {
      cancel = this.#clock.after(SIGN_OF_LIFE_MS, () => {
        // One that takes nothing shows by itself whether it is there.
        if (!to.writableNeedDrain) to.write(':\n\n');
        next();
      });
    };
    next();
    return () => cancel();
  }
}

function textOf({ name, data }: StreamEvent): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

/** Resolves when a reader takes more, or is gone. */
export function drained(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      to.off('drain', done);
      to.off('close', done);
      resolve();
    };
    to.on('drain', done);
    to.on('close', done);
  });
}
