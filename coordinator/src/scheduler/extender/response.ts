import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** What kube-scheduler can be told to ask. `predicates` is the predecessor's filter. */
export type Verb = 'filter' | 'prioritize' | 'preempt' | 'predicates';

/** A question as it came: its head is read, its body is not. */
export type Question = {
  verb: Verb;
  path: string;
  request: IncomingMessage;
  /** Aborts when the client is gone or the time is over. */
  signal: AbortSignal;
  /** Calls back once, when the answer is out or the client is gone. */
  onClosed: (callback: () => void) => void;
};

export type ExtenderResponse = {
  status: number;
  type: string;
  /** A document, or the answer of another replica as it comes. */
  body: string | Readable;
  headers?: Readonly<Record<string, string>>;
};

export type Responder = (question: Question) => Promise<ExtenderResponse>;

const TITLES = {
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;

/** Every status that a question can be refused with. */
export type RefusalStatus = keyof typeof TITLES;

export function titleOf(status: RefusalStatus): string {
  return TITLES[status];
}

export function jsonAnswer(document: unknown): ExtenderResponse {
  return { status: 200, type: 'application/json', body: JSON.stringify(document) };
}

/** A refusal with its reason, as problem details (RFC 9457). */
export function refuse(
  status: RefusalStatus,
  detail: string,
  headers: ExtenderResponse['headers'] = {},
): ExtenderResponse {
  const body = JSON.stringify({ type: 'about:blank', title: TITLES[status], status, detail });
  return { status, type: 'application/problem+json', body, headers };
}
