import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { askLeader } from '../../term/leader/ask-leader.ts';

const TIMEOUT_MS = 3000;
const REQUEST_HEADERS = ['last-event-id', 'content-type'];
const RESPONSE_HEADERS = ['content-type', 'cache-control', 'x-content-type-options'];

/** Forwards a request to the leader's console, and its response while it arrives. False if the leader does not answer. */
export async function forwardTo(
  leaderUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
): Promise<boolean> {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const options = { request, headers: REQUEST_HEADERS, signal: closed.signal, timeoutMs: TIMEOUT_MS, clock };
  const answer = await askLeader({ url: leaderUrl }, options);
  if (!answer) return false;
  const headers = Object.fromEntries(
    RESPONSE_HEADERS.flatMap((name) => (name in answer.headers ? [[name, answer.headers[name]]] : [])),
  );
  response.writeHead(answer.statusCode ?? 502, headers);
  response.flushHeaders();
  answer.pipe(response);
  answer.once('error', () => response.destroy());
  return true;
}
