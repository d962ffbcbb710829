import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { PROBLEM_TYPE, type ProblemStatus, problemJson } from '@rollcall/common/problem.ts';

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

export function jsonAnswer(document: unknown): ExtenderResponse {
  return { status: 200, type: 'application/json', body: JSON.stringify(document) };
}

/** A refusal with its reason, as problem details (RFC 9457). */
export function refuse(
  status: ProblemStatus,
  detail: string,
  headers: ExtenderResponse['headers'] = {},
): ExtenderResponse {
  return { status, type: PROBLEM_TYPE, body: problemJson(status, detail), headers };
}
