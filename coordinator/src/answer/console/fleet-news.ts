import type { Clock } from '@rollcall/common/clock.ts';
import type { NodeSummary, ReplicaDocument } from '@rollcall/common/console.ts';
import type { StreamEvent } from './event-log.ts';
import { EventStream, type Reader } from './event-stream.ts';

/** After the last reader has gone, events are still made for so long: it may only have lost the connection. */
const LINGER_MS = 300_000;

/**
 * A node is looked at whenever it may be other than it was. What time alone changes is told no later than this; to find it
 * out for all nodes means to plan each of them.
 */
const KNOWN_FOR_MS = 10_000;

export type FleetNewsOptions = {
  clock: Clock;
  /** `undefined` for a node that is not there. */
  summary: (node: string) => NodeSummary | undefined;
  replica: () => ReplicaDocument;
};

/**
 * Tells the readers of the stream what becomes of nodes, of guards and of leadership. While there are none it does nothing.
 * What it found of a node is also what a list of all nodes is made of.
 */
export class FleetNews {
  readonly #options: FleetNewsOptions;
  readonly #stream: EventStream;
  /** The summary of each node that was sent last. */
  readonly #sent = new Map<string, string>();
  /** Each node as it was when it was last evaluated. */
  readonly #known = new Map<string, { summary: NodeSummary; atMs: number }>();
  #replica = '';
  #isOn = false;
  #idleSinceMs = 0;

  constructor(options: FleetNewsOptions) {
    this.#options = options;
    this.#stream = new EventStream(options.clock, () => this.#greeting());
  }

  /** The id of the event after which a reader of a document made now has to follow. The caller is about to follow. */
  follow(): string {
    this.#wake();
    return this.#stream.lastId;
  }

  open(reader: Reader): void {
    this.#wake();
    this.#stream.open(reader);
  }

  get readers(): number {
    return this.#stream.readers;
  }

  /** A node in a line; `undefined` where it is not there. */
  summary(name: string): NodeSummary | undefined {
    const known = this.#known.get(name);
    return known && this.#options.clock.monotonic() - known.atMs < KNOWN_FOR_MS ? known.summary : this.#find(name);
  }

  #find(name: string): NodeSummary | undefined {
    const summary = this.#options.summary(name);
    if (summary) this.#known.set(name, { summary, atMs: this.#options.clock.monotonic() });
    else this.#known.delete(name);
    return summary;
  }

  /** The node may be other than it was, or gone. */
  look(name: string): void {
    this.#known.delete(name);
    if (!this.#isOn) return;
    const summary = this.#find(name);
    const before = this.#sent.get(name);
    if (!summary) {
      this.#sent.delete(name);
      this.#stream.add({ name: 'node-gone', data: JSON.stringify({ name }) });
      return;
    }
    const data = JSON.stringify(summary);
    if (data === before) return;
    this.#sent.set(name, data);
    this.#stream.add({ name: 'node', data });
  }

  /** Leadership or a guard may be other than it was; time may have passed. To be called often. */
  tick(): void {
    if (!this.#isOn) return;
    const nowMs = this.#options.clock.monotonic();
    if (this.#stream.readers > 0) this.#idleSinceMs = nowMs;
    if (nowMs - this.#idleSinceMs > LINGER_MS) {
      this.#sleep();
      return;
    }
    const event = this.#greeting();
    if (event.data === this.#replica) return;
    this.#replica = event.data;
    this.#stream.add(event);
  }

  /** Another term begins, or this replica leads no more. */
  restart(): void {
    this.#sent.clear();
    this.#known.clear();
    if (this.#isOn) this.#stream.restart();
    this.tick();
  }

  #wake(): void {
    this.#idleSinceMs = this.#options.clock.monotonic();
    if (this.#isOn) return;
    this.#isOn = true;
    // No events were made in between.
    this.#stream.restart();
    this.#replica = this.#greeting().data;
  }

  #sleep(): void {
    this.#isOn = false;
    this.#sent.clear();
    this.#known.clear();
  }

  #greeting(): StreamEvent {
    const { now: _now, ...replica } = this.#options.replica();
    return { name: 'replica', data: JSON.stringify(replica) };
  }
}
