import { createServer, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ControlPlane } from '../../control-plane/control-plane.ts';

/** Stands before the API server on plain HTTP, passes requests on, and can refuse or hold them as a busy one does. */
export type ThrottlingProxy = {
  url: string;
  /** When each request came, by the monotonic clock. */
  arrivalsMs: number[];
  /** Answers the next requests with 429, as the API server's own filter does. */
  throttleNext(requests: number, retryAfterSeconds: number): void;
  /** Answers writes to Nodes with this status, as long as it is not `undefined`. */
  failWrites(status: number | undefined): void;
  /** Answers as if this collection were not served, until the returned function is called. */
  hide(path: string): () => void;
  /** Ends the watches of this collection, and answers with 500 there, until the returned function is called. */
  cut(path: string): () => void;
  /** Keeps all requests, or only requests for this collection, from the API server until the returned function is called. */
  hold(path?: string): () => void;
  stop(): Promise<void>;
};

export async function startThrottlingProxy(controlPlane: ControlPlane): Promise<ThrottlingProxy> {
  const arrivalsMs: number[] = [];
  let throttled = { requests: 0, retryAfterSeconds: 0 };
  let failing: number | undefined;
  let hidden: string | undefined;
  let isCut: string | undefined;
  const answers = new Map<ServerResponse, string>();
  let held = { path: '/', until: Promise.resolve() };
  const server: Server = createServer((incoming, answer) => {
    arrivalsMs.push(performance.now());
    const refuse = (status: number, text: string, headers: Record<string, string> = {}) => {
      incoming.resume();
      answer.writeHead(status, { ...headers, 'Content-Type': 'text/plain' });
      answer.end(`${text}\n`);
    };
    if (throttled.requests > 0) {
      throttled.requests -= 1;
      const headers = { 'Retry-After': String(throttled.retryAfterSeconds) };
      refuse(429, 'Too many requests, please try again later.', headers);
      return;
    }
    if (failing !== undefined && incoming.method === 'PATCH' && incoming.url?.startsWith('/api/v1/nodes/')) {
      refuse(failing, 'on purpose');
      return;
    }
    const { url: asked = '' } = incoming;
    if (isCut !== undefined && asked.startsWith(isCut)) {
      refuse(500, 'on purpose');
      return;
    }
    answers.set(answer, asked);
    answer.on('close', () => answers.delete(answer));
    if (hidden !== undefined && incoming.url?.startsWith(hidden)) {
      refuse(404, '404 page not found');
      return;
    }
    void (incoming.url?.startsWith(held.path) ? held.until : Promise.resolve()).then(() => {
      const { method = 'GET', headers } = incoming;
      const url = new URL(incoming.url ?? '/', controlPlane.url);
      const onward = request(
        url,
        { method, headers: { ...headers, host: url.host }, ca: controlPlane.ca },
        (response) => {
          answer.writeHead(response.statusCode ?? 502, response.headers);
          response.pipe(answer);
        },
      );
      onward.on('error', () => answer.destroy());
      incoming.pipe(onward);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivalsMs,
    throttleNext(requests, retryAfterSeconds) {
      throttled = { requests, retryAfterSeconds };
    },
    failWrites(status) {
      failing = status;
    },
    hide(path) {
      hidden = path;
      return () => {
        hidden = undefined;
      };
    },
    cut(path) {
      isCut = path;
      for (const [answer, asked] of answers) if (asked.startsWith(path)) answer.destroy();
      return () => {
        isCut = undefined;
      };
    },
    hold(path = '/') {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = { path, until: promise };
      return resolve;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
