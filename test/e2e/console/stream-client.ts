import { get, type IncomingMessage } from 'node:http';
import type { StreamEvents } from '@rollcall/common/console.ts';

export type ReceivedEvent = {
  [Name in keyof StreamEvents]: { name: Name; id: string | undefined; data: StreamEvents[Name] };
}[keyof StreamEvents];

/** Reads the stream of a console, as a browser does. */
export class StreamClient {
  readonly events: ReceivedEvent[] = [];
  readonly ended: Promise<void>;
  lastId: string | undefined;
  #response: IncomingMessage | undefined;
  #text = '';

  /** `address`: host and port of the console. */
  constructor(address: string, { after, lastEventId }: { after?: string; lastEventId?: string | undefined } = {}) {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const query = after === undefined ? '' : `?after=${after}`;
    this.ended = new Promise((resolve) => {
      const outgoing = get(`http://${address}/v1/stream${query}`, { headers, agent: false }, (response) => {
        this.#response = response;
        response.setEncoding('utf8').on('data', (chunk: string) => this.#take(chunk));
        response.on('close', resolve);
      });
      outgoing.on('error', () => resolve());
    });
  }

  /** States of a service on a node, in the order in which they were told. */
  statesOf(node: string, service: string): (string | undefined)[] {
    const states = this.events.flatMap((event) =>
      event.name === 'node' && event.data.name === node ? [event.data.services[service]] : [],
    );
    return states.filter((state, index) => state !== states[index - 1]);
  }

  named(name: ReceivedEvent['name']): ReceivedEvent[] {
    return this.events.filter((event) => event.name === name);
  }

  close(): void {
    this.#response?.destroy();
  }

  #take(chunk: string): void {
    this.#text += chunk;
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const name = field('event');
      if (name === undefined) continue;
      const id = field('id');
      this.lastId = id ?? this.lastId;
      this.events.push({ name, id, data: JSON.parse(field('data') ?? '') } as ReceivedEvent);
    }
  }
}
