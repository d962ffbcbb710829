import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { nodeHttp } from '@rollcall/common/http-server.ts';

/** On questions that were passed on already: whoever gets one answers it, whether it leads by then or not. */
export const FORWARDED_HEADER = 'x-rollcall-forwarded';

const TIMEOUT_MS = 3000;
const PASSED_ON = ['content-type', 'cache-control', 'x-content-type-options'];

/** Passes a question on to the leader's console, and its answer back as it comes. False where it does not answer. */
export function forwardTo(
  leaderUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
): Promise<boolean> {
  const url = URL.parse(request.url ?? '/', leaderUrl);
  if (url?.protocol !== 'http:') return Promise.resolve(false);
  return new Promise((resolve) => {
    const lastEventId = request.headers['last-event-id'];
    const outgoing = nodeHttp().request(url, {
      method: request.method ?? 'GET',
      agent: false,
      headers: {
        [FORWARDED_HEADER]: '1',
        ...(typeof lastEventId === 'string' ? { 'last-event-id': lastEventId } : {}),
        ...(request.headers['content-type'] === undefined ? {} : { 'content-type': request.headers['content-type'] }),
      },
    });
    const cancel = clock.after(TIMEOUT_MS, () => outgoing.destroy());
    outgoing.once('response', (answer) => {
      cancel();
      const headers = Object.fromEntries(
        PASSED_ON.flatMap((name) => (name in answer.headers ? [[name, answer.headers[name]]] : [])),
      );
      response.writeHead(answer.statusCode ?? 502, headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.once('error', () => response.destroy());
      resolve(true);
    });
    outgoing.once('error', () => {
      cancel();
      resolve(false);
    });
    response.once('close', () => outgoing.destroy());
    request.pipe(outgoing);
  });
}
