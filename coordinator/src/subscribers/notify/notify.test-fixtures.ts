import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@rollcall/common/clock.ts';
import type { NodeChange, NodeMetadata } from './node-change.ts';
import type { NotifiedNode } from './outbox.ts';

export function metadata(labels: Record<string, string>): NodeMetadata {
  return { labels, annotations: {} };
}

export function nodeOf(name: string, labels: Record<string, string>, more: Partial<NotifiedNode> = {}): NotifiedNode {
  return { name, uid: `uid-of-${name}`, labels, annotations: {}, ...more };
}

/** What a receiver makes of a message. */
export function applyChange(before: NodeMetadata, change: NodeChange): NodeMetadata {
  const labels = { ...before.labels, ...change.labelsAdded, ...change.labelsUpdated };
  const annotations = { ...before.annotations, ...change.annotationsAdded, ...change.annotationsUpdated };
  for (const key of change.labelsDeleted) delete labels[key];
  for (const key of change.annotationsDeleted) delete annotations[key];
  return { labels, annotations };
}

/** Real time that passes `factor` times as fast. */
export function fastClock(factor: number): Clock {
  const startMs = Date.now();
  const monotonic = () => performance.now() * factor;
  const originMs = monotonic();
  return {
    now: () => startMs + monotonic() - originMs,
    monotonic,
    after(delayMs, callback) {
      const timer = setTimeout(callback, delayMs / factor);
      return () => clearTimeout(timer);
    },
  };
}

/** Resolves when it is so; fails after 10 s. */
export async function until(isSo: () => boolean): Promise<void> {
  for (const endMs = performance.now() + 10_000; !isSo(); ) {
    if (performance.now() > endMs) throw new Error(`Never was it so: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export type Handler = (response: ServerResponse, message: NodeChange, request: IncomingMessage) => void;

export function ok(response: ServerResponse): void {
  response.writeHead(204).end();
}

export type Receiver = {
  /** All that came, taken or not. */
  messages: NodeChange[];
  requests: IncomingMessage[];
  port: number;
  underWay: { now: number; most: number; mostOfOneNode: number };
  answer: Handler;
  close(): Promise<void>;
};

/** A receiver on loopback, which answers as `answer` says; that may be changed at any time. */
export async function listenAt(server: Server, answer: Handler = ok, port = 0): Promise<Receiver> {
  const perNode = new Map<string, number>();
  const receiver: Receiver = {
    messages: [],
    requests: [],
    port,
    underWay: { now: 0, most: 0, mostOfOneNode: 0 },
    answer,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
  server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    const chunks = await request.toArray().catch(() => undefined);
    if (!chunks) return;
    const message = JSON.parse(Buffer.concat(chunks).toString()) as NodeChange;
    const { underWay, messages, requests } = receiver;
    const count = (step: number) => {
      underWay.now += step;
      perNode.set(message.node, (perNode.get(message.node) ?? 0) + step);
    };
    count(1);
    underWay.most = Math.max(underWay.most, underWay.now);
    underWay.mostOfOneNode = Math.max(underWay.mostOfOneNode, perNode.get(message.node) ?? 0);
    // By `end`, not by `close`: the client knows of the answer before this server knows that it does.
    const end = response.end.bind(response) as (...given: unknown[]) => ServerResponse;
    let ended = false;
    const once = () => {
      if (!ended) count(-1);
      ended = true;
    };
    response.end = ((...given: unknown[]) => {
      once();
      return end(...given);
    }) as typeof response.end;
    response.once('close', once);
    messages.push(message);
    requests.push(request);
    receiver.answer(response, message, request);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  receiver.port = (server.address() as AddressInfo).port;
  return receiver;
}
