import type { ServerResponse } from 'node:http';

type Seen = { uid: string; resourceVersion: string };

/** A watch of the coordinator on its way through a gateway, line by line. */
export class WatchStream {
  readonly path: string;
  readonly #out: ServerResponse;
  #rest = '';
  #waiting: string[] | undefined;
  readonly #dropped: Seen[] = [];

  constructor(path: string, out: ServerResponse) {
    this.path = path;
    this.#out = out;
  }

  push(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (this.#waiting) this.#waiting.push(line);
      else this.#send(line);
    }
  }

  /** Stops all data without closing the stream. */
  freeze(): void {
    this.#waiting ??= [];
  }

  /** Delivers the delayed data, in order. */
  thaw(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const line of waiting) this.#send(line);
  }

  /** The event with this version of an object never comes. */
  drop(seen: Seen): void {
    this.#dropped.push(seen);
  }

  /** Whether an event is missing in it. */
  get lacks(): boolean {
    return this.#dropped.length > 0;
  }

  /** Tells that its history is gone, upon which its reader lists anew. */
  expire(): void {
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 };
    this.#out.end(`${JSON.stringify({ type: 'ERROR', object: { ...status, message: 'too old resource version' } })}\n`);
  }

  cut(): void {
    this.#out.destroy();
  }

  #send(line: string): void {
    if (this.#dropped.length > 0 && line !== '') {
      const { object } = JSON.parse(line) as { object?: { metadata?: Seen } };
      const { uid, resourceVersion } = object?.metadata ?? {};
      if (this.#dropped.some((each) => each.uid === uid && each.resourceVersion === resourceVersion)) return;
    }
    this.#out.write(`${line}\n`);
  }
}
