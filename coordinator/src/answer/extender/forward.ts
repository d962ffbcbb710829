import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { nodeHttp } from '@rollcall/common/http-server.ts';
import { type Answer, type Question, refuse } from './answer.ts';

/** Where the leader answers, and what it takes to speak with it. */
export type Leader = {
  /** Scheme, host and port. */
  url: string;
  /** PEM; for https. */
  ca?: string;
  serverName?: string;
  /** PEM; where the leader asks for a certificate. */
  cert?: string;
  key?: string;
};

export type ForwardOptions = {
  /** `undefined` while nobody is known to lead. */
  leader: () => Leader | undefined;
  clock: Clock;
  /** From the question to the head of the leader's answer; 2 s unless told. */
  timeoutMs?: number;
};

/** Passes a question on, whose body was read, and the answer back as it comes. */
export type Forward = (question: Question, body: Buffer) => Promise<Answer>;

/** On questions that were passed on already: they are not passed on again, whoever leads by now. */
const FORWARDED_HEADER = 'x-rollcall-forwarded';
const TIMEOUT_MS = 2_000;

/** Passes questions on to the leader. */
export function createForward(options: ForwardOptions): Forward {
  return async (question, body) => {
    if (question.request.headers[FORWARDED_HEADER] !== undefined) {
      return refuse(503, 'The request was forwarded to this replica, which does not lead');
    }
    const leader = options.leader();
    const url = leader && URL.parse(question.path, leader.url);
    if (!leader || !url) return refuse(503, 'No leader is known');
    return pass({ question, body }, url, leader, options);
  };
}

type Read = { question: Question; body: Buffer };

function pass(
  { question, body }: Read,
  url: URL,
  leader: Leader,
  { clock, timeoutMs }: ForwardOptions,
): Promise<Answer> {
  const { request, signal } = question;
  return new Promise((resolve) => {
    const outgoing = open(url, leader, request, body.length);
    const limitMs = timeoutMs ?? TIMEOUT_MS;
    const cancel = clock.after(limitMs, () => outgoing.destroy(new Error(`No answer within ${limitMs} ms`)));
    const abort = () => outgoing.destroy();
    signal.addEventListener('abort', abort, { once: true });
    outgoing.once('response', (response: IncomingMessage) => {
      cancel();
      resolve({
        status: response.statusCode ?? 503,
        type: response.headers['content-type'] ?? 'application/json',
        body: response,
        ...lengthOf(response),
      });
    });
    outgoing.on('error', () => {
      cancel();
      resolve(refuse(503, 'The leader did not answer'));
    });
    if (signal.aborted) abort();
    outgoing.end(body);
  });
}

/** On a connection of its own: a body that was passed on cannot be sent again where a kept one turns out to be closed. */
function open(
  url: URL,
  { ca, serverName, cert, key }: Leader,
  { headers }: IncomingMessage,
  length: number,
): ClientRequest {
  const options = {
    method: 'POST',
    agent: false as const,
    headers: {
      [FORWARDED_HEADER]: '1',
      'content-length': String(length),
      ...pick(headers, 'content-type'),
    },
  };
  if (url.protocol !== 'https:') return nodeHttp().request(url, options);
  // What is given as its CA may be the leader's own certificate.
  const tls = { ca, cert, key, servername: serverName, allowPartialTrustChain: true };
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  return process.getBuiltinModule('node:https').request(url, { ...options, ...given });
}

function pick(headers: IncomingMessage['headers'], name: string): Record<string, string> {
  const value = headers[name];
  return typeof value === 'string' ? { [name]: value } : {};
}

function lengthOf({ headers }: IncomingMessage): Pick<Answer, 'headers'> {
  const length = headers['content-length'];
  return length === undefined ? {} : { headers: { 'content-length': length } };
}
