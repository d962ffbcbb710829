import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Clock } from '@rollcall/common/clock.ts';
import { describeError } from '@rollcall/common/coded-error.ts';
import type { DiffRequest } from '@rollcall/common/console.ts';
import { BodyReader, BodyRefusal } from '@rollcall/common/http-body.ts';
import { createPlainServer } from '@rollcall/common/http-server.ts';
import { isLoopback } from '@rollcall/common/loopback.ts';
import { PROBLEM_TYPE, type ProblemStatus, problemJson } from '@rollcall/common/problem.ts';
import { readTarget } from '@rollcall/common/request-target.ts';
import { Slices } from '@rollcall/common/slices.ts';
import { z } from 'zod';
import { askLeader, isForwarded } from '../../term/leader/ask-leader.ts';
import { drained, type Reader } from './event-stream.ts';
import type { Page } from './page.ts';

/** A document whose one long list is made while it is written. */
type LongDocument = {
  /** All of it but the list. */
  head: object;
  list: string;
  /** `undefined` items are left out: they only give other work a turn. */
  items: Iterable<unknown>;
  /** What follows the list, once it was made. */
  tail?: () => object;
};

/** Bytes that are handed over at once. */
const PIECE_BYTES = 32_768;

/**
 * Writes a document as JSON, an item a line, without holding the loop or keeping more of it than the reader takes. Returns
 * early where the reader is gone.
 */
export async function writePieces(document: LongDocument, to: Writable): Promise<void> {
  const slices = new Slices();
  const head = JSON.stringify(document.head).slice(0, -1);
  let piece = `${head}${head === '{' ? '' : ','}\n${JSON.stringify(document.list)}: [`;
  let isFirst = true;
  for (const item of document.items) {
    if (item !== undefined) {
      piece += `${isFirst ? '' : ','}\n${JSON.stringify(item)}`;
      isFirst = false;
    }
    await slices.pause();
    if (piece.length < PIECE_BYTES) continue;
    if (!(await hand(piece, to))) return;
    piece = '';
  }
  const tail = JSON.stringify(document.tail?.() ?? {}).slice(1);
  to.end(`${piece}\n]${tail === '}' ? '' : ','}${tail}\n`);
}

/** Whether the reader is still there. */
async function hand(piece: string, to: Writable): Promise<boolean> {
  if (to.destroyed) return false;
  if (to.write(piece)) return true;
  await drained(to);
  return !to.destroyed;
}

const BODIES = new BodyReader({ what: 'A proposed change', bytesMax: () => 1024 * 1024, totalMax: 4 * 1024 * 1024 });

const RULE_FILES_MAX = 1000;

const SCHEMA = z.object({
  objects: z.array(z.looseObject({ kind: z.string() })).max(1000),
  rules: z.record(z.string(), z.string()).refine((files) => Object.keys(files).length <= RULE_FILES_MAX, {
    error: `must have at most ${RULE_FILES_MAX} files`,
  }),
});

/**
 * Reads what is asked of `POST /v1/diff`. What is no JSON by its type is refused: a web page of another origin may send
 * anything else without being asked whether it may.
 */
async function readDiffRequest(
  request: IncomingMessage,
): Promise<{ request: DiffRequest } | { status: ProblemStatus; problem: string }> {
  let body: Buffer;
  try {
    BODIES.check(request);
    const read = await BODIES.read(request);
    ({ body } = read);
    read.closed();
  } catch (error) {
    if (error instanceof BodyRefusal) return { status: error.status, problem: error.message };
    throw error;
  }
  try {
    return { request: SCHEMA.parse(JSON.parse(body.toString())) };
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : 'it is not JSON';
    return { status: 400, problem: `The proposed change is not valid: ${reason}` };
  }
}

/** Creates the documents of the console. Each is made when it is requested, a long one while it is sent. */
export type ConsoleSource = {
  nodes: () => LongDocument;
  /** `undefined` for a node that is not known. */
  node: (name: string) => object | undefined;
  plan: () => LongDocument;
  services: () => object;
  audit: () => LongDocument;
  /** The rules and their effects, or one rule by its label; `undefined` for a label that no rule gives. */
  rules: (label: string | undefined) => Promise<object | undefined>;
  /** What the rule for a label says of a node; `undefined` if no rule gives it, or the node is not known. */
  ruleOnNode: (label: string, node: string) => object | undefined;
  /** The nodes that a pod can go to; `undefined` for a pod that does not exist. Rejects if the pod cannot be read. */
  schedule: (pod: { namespace: string; name: string }) => Promise<LongDocument | undefined>;
  /** What would become of the nodes with another configuration. */
  diff: (request: DiffRequest) => Promise<LongDocument>;
  /** How many clients read the stream. */
  readers: () => number;
  stream: (reader: Reader) => void;
  /** The page for browsers; `undefined` if it was not built. */
  page: () => Page | undefined;
  /** The console of the leader, if another replica leads. */
  leaderUrl: () => string | undefined;
};

/** Each has a connection of its own; others have to be answered as well. */
const READERS_MAX = 128;

/** `host`: the address that it will listen on. */
export function createConsoleServer(source: ConsoleSource, host: string, clock: Clock): Server {
  return createPlainServer((request, response) => {
    // What it cannot be told any more, it is not told.
    void serve(request, response, { source, host, clock }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, problem(502, describeError(error)));
    });
  });
}

type ConsoleResponse = { status: number; document: object } | { long: LongDocument };

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { source, host, clock }: { source: ConsoleSource; host: string; clock: Clock },
): Promise<void> {
  if (isLoopback(host) && !isLoopback(hostNamed(request))) {
    return send(response, problem(403, 'This console answers only requests to a loopback address'));
  }
  const url = readTarget(request.url);
  const isDiff = url?.pathname === '/v1/diff';
  if (isDiff ? request.method !== 'POST' : request.method !== 'GET' && request.method !== 'HEAD') {
    return send(
      response,
      problem(405, `Only ${isDiff ? 'POST' : 'GET'} is served here`),
      isDiff ? 'POST' : 'GET, HEAD',
    );
  }
  if (url?.pathname === '/') return sendPage(request, response, source.page());
  const leader = isForwarded(request) ? undefined : source.leaderUrl();
  if (leader !== undefined && (await forwardTo(leader, request, response, clock))) return;
  // The request body was consumed by the attempt to forward it.
  if (leader !== undefined && isDiff) return send(response, problem(502, 'The leader does not answer'));
  if (url?.pathname === '/v1/stream') return stream(request, response, { source, url });
  const answer = isDiff ? await diffed(request, source) : await answerTo(url, source);
  if ('document' in answer) return send(response, answer);
  head(response, 200);
  if (request.method === 'HEAD') response.end();
  else await writePieces(answer.long, response);
}

async function diffed(request: IncomingMessage, source: ConsoleSource): Promise<ConsoleResponse> {
  const read = await readDiffRequest(request);
  return 'request' in read ? { long: await source.diff(read.request) } : problem(read.status, read.problem);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

async function answerTo(url: URL | undefined, source: ConsoleSource): Promise<ConsoleResponse> {
  const path = url?.pathname ?? '';
  const [, asked] = /^\/v1\/nodes\/([^/]+)$/.exec(path) ?? [];
  if (asked !== undefined) {
    const name = decoded(asked);
    const document = source.node(name);
    return document ? { status: 200, document } : problem(404, `There is no node ${name}`);
  }
  switch (path) {
    case '/v1/nodes':
      return { long: source.nodes() };
    case '/v1/services':
      return { status: 200, document: source.services() };
    case '/v1/plan':
      return { long: source.plan() };
    case '/v1/audit':
      return { long: source.audit() };
    case '/v1/rules': {
      const label = url?.searchParams.get('label') ?? undefined;
      const node = url?.searchParams.get('node') ?? undefined;
      if (label !== undefined && node !== undefined) {
        const ofNode = source.ruleOnNode(label, node);
        return ofNode
          ? { status: 200, document: ofNode }
          : problem(404, `There is no rule for ${label}, or no node ${node}`);
      }
      const document = await source.rules(label);
      return document ? { status: 200, document } : problem(404, `No rule sets the label ${label}`);
    }
    case '/v1/schedule': {
      const [, namespace, pod] = /^([^/]+)\/([^/]+)$/.exec(url?.searchParams.get('pod') ?? '') ?? [];
      if (namespace === undefined || pod === undefined) return problem(400, 'Name the pod: ?pod=NAMESPACE/NAME');
      const long = await source.schedule({ namespace, name: pod });
      return long ? { long } : problem(404, `There is no pod ${namespace}/${pod}`);
    }
    default: {
      const paths = 'nodes, /v1/nodes/NAME, /v1/services, /v1/plan, /v1/audit, /v1/rules, /v1/stream';
      return problem(404, `Try /v1/${paths}, /v1/schedule?pod=NAMESPACE/NAME, or POST /v1/diff`);
    }
  }
}

function stream(
  request: IncomingMessage,
  response: ServerResponse,
  { source, url }: { source: ConsoleSource; url: URL },
): void {
  const lastEventId = request.headers['last-event-id'];
  const after = typeof lastEventId === 'string' ? lastEventId : (url.searchParams.get('after') ?? undefined);
  const headers = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (source.readers() >= READERS_MAX) {
    send(response, problem(503, 'Too many clients read the stream already'));
    return;
  }
  response.writeHead(200, headers);
  if (request.method === 'HEAD') response.end();
  else source.stream({ to: response, after });
}

function sendPage(request: IncomingMessage, response: ServerResponse, page: Page | undefined): void {
  if (!page) {
    send(response, problem(404, 'The page was not built (npm run build); /v1/nodes is available'));
    return;
  }
  response.writeHead(200, page.headers);
  response.end(request.method === 'HEAD' ? undefined : page.body);
}

function send(response: ServerResponse, answer: { status: number; document: object }, allow?: string): void {
  head(response, answer.status, allow);
  response.end(`${JSON.stringify(answer.document, null, 2)}\n`);
}

function head(response: ServerResponse, status: number, allow?: string): void {
  response.writeHead(status, {
    'content-type': status === 200 ? 'application/json' : PROBLEM_TYPE,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(allow === undefined ? {} : { allow }),
  });
}

function problem(status: ProblemStatus, detail: string): { status: number; document: object } {
  return { status, document: JSON.parse(problemJson(status, detail)) };
}

/** The host name of a request, without its port. */
function hostNamed({ headers }: IncomingMessage): string {
  return (headers.host ?? '').replace(/:\d+$/, '');
}

const TIMEOUT_MS = 3000;
const REQUEST_HEADERS = ['last-event-id', 'content-type', 'content-length'];
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
