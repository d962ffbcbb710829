import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import type { NodeSummary, NodesDocument, ReplicaDocument } from '@rollcall/common/console.ts';
import { ask, sentenceOf } from './ask.ts';
import { type StreamEvent, streamEvents } from './stream-events.ts';

/** The coordinator gives a sign of life every 15 seconds. */
const SILENCE_MAX_MS = 35_000;
/** Of a replica that does not lead there is no stream of nodes. */
const STANDBY_POLL_MS = 3000;

/** Times on the wall clock. `heardMs`: when what was told was last known to be true; `undefined` where nothing was told yet. */
export type Loss = { reason: string; heardMs: number | undefined; nextTryMs: number };

/** Who is told what happens. What it is told is the whole of each thing, so that hearing it twice does no harm. */
export type Listener = {
  replica: (replica: Omit<ReplicaDocument, 'now'>) => void;
  nodes: (nodes: readonly NodeSummary[]) => void;
  node: (node: NodeSummary) => void;
  gone: (name: string) => void;
  /** Everything is known, and what changes will be told. */
  live: () => void;
  /** What was told may be out of date from now on. */
  lost: (loss: Loss) => void;
};

/**
 * Keeps a listener informed of the fleet: the list of nodes, then the stream from there on. After a lost connection it
 * goes on from the last event that it saw; where the coordinator does not know that any more, it reads the list again.
 */
export class Connection {
  readonly #clock: Clock;
  readonly #listener: Listener;
  readonly #backoff = new Backoff({ baseMs: 500, maxMs: 10_000, random: Math.random });
  #lastId: string | undefined;
  #heardMs: number | undefined;
  #hurry = new AbortController();

  constructor(clock: Clock, listener: Listener) {
    this.#clock = clock;
    this.#listener = listener;
  }

  /** Does not wait any longer with the next try. */
  hurry(): void {
    this.#hurry.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#lastId === undefined) await this.#readNodes(signal);
        if (this.#lastId === undefined) await sleep(this.#clock, STANDBY_POLL_MS, signal);
        else if (await this.#follow(signal)) this.#lastId = undefined;
        else await this.#wait('The coordinator ended the connection', signal);
      } catch (error) {
        if (!signal.aborted) await this.#wait(sentenceOf(error), signal);
      }
    }
  }

  async #readNodes(signal: AbortSignal): Promise<void> {
    const { replica, nodes, eventId } = await ask<NodesDocument>('v1/nodes', this.#clock, signal);
    this.#listener.replica(replica);
    this.#listener.nodes(nodes);
    this.#lastId = eventId;
    this.#heardMs = this.#clock.now();
    if (eventId !== undefined) return;
    this.#backoff.reset();
    this.#listener.live();
  }

  /** Until the stream ends, false; true where the list has to be read again. Throws where the connection is lost. */
  async #follow(signal: AbortSignal): Promise<boolean> {
    const silence = new AbortController();
    let cancel = () => {};
    const rearm = () => {
      this.#heardMs = this.#clock.now();
      cancel();
      cancel = this.#clock.after(SILENCE_MAX_MS, () => silence.abort());
    };
    const stop = AbortSignal.any([signal, silence.signal]);
    cancel = this.#clock.after(SILENCE_MAX_MS, () => silence.abort());
    try {
      for await (const events of streamEvents(this.#lastId, stop, rearm)) {
        // What was missed is sent at once, behind the greeting: it is known a moment later.
        if (events.some((event) => event.name === 'reset')) return true;
        for (const event of events) this.#take(event);
        this.#backoff.reset();
        this.#listener.live();
      }
      return false;
    } catch (error) {
      throw silence.signal.aborted ? new Error('Nothing was heard any more', { cause: error }) : error;
    } finally {
      cancel();
      silence.abort();
    }
  }

  #take(event: StreamEvent): void {
    this.#lastId = event.id ?? this.#lastId;
    if (event.name === 'node') this.#listener.node(event.data);
    else if (event.name === 'node-gone') this.#listener.gone(event.data.name);
    else if (event.name === 'replica') this.#listener.replica(event.data);
  }

  async #wait(reason: string, signal: AbortSignal): Promise<void> {
    const delayMs = this.#backoff.next();
    this.#listener.lost({ reason, heardMs: this.#heardMs, nextTryMs: this.#clock.now() + delayMs });
    this.#hurry = new AbortController();
    await sleep(this.#clock, delayMs, AbortSignal.any([signal, this.#hurry.signal]));
  }
}
