import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@rollcall/common/clock.ts';
import { parseJson } from '@rollcall/common/parse-json.ts';
import { ReportRefusal } from './report-refusal.ts';

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("?)utf-8\2[ \t]*)?$/i;

/** After a refusal, this much of what is still on its way is read and thrown away, for this long. */
const LINGER_BYTES = 4 * 1024 * 1024;
const LINGER_MS = 1000;

/** Thrown when the client is gone, so that there is nobody to answer. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client closed the connection');
    this.name = 'ClientGoneError';
  }
}

/** Throws ReportRefusal: 415 for a body that is not plain JSON, 413 for one whose head says that it is too large. */
export function checkBodyHead(request: IncomingMessage, bytesMax: number): void {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers;
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new ReportRefusal(415, 'A report must be application/json in UTF-8');
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ReportRefusal(415, 'A report must not have a content encoding');
  }
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax);
}

function tooLarge(bytesMax: number): ReportRefusal {
  return new ReportRefusal(413, `A report must have at most ${bytesMax} bytes`, { close: true });
}

/** The whole body. Throws ReportRefusal (413), and ClientGoneError when the client left before its end. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) return reject(new ClientGoneError());
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      request.removeListener('data', take);
      reject(tooLarge(bytesMax));
    };
    // It is also told when all is well, and an error is not made for nothing ten thousand times a second.
    const leave = () => {
      if (!request.readableEnded) reject(new ClientGoneError());
    };
    request.on('data', take);
    request.on('error', leave);
    request.on('close', leave);
    // Nearly every report arrives in one piece.
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, bytes)));
  });
}

/** Throws ReportRefusal (400) for what is not a JSON object in UTF-8. */
export function parseJsonObject(body: Buffer): object {
  if (!isUtf8(body)) throw new ReportRefusal(400, 'The body is not UTF-8');
  let value: unknown;
  try {
    value = parseJson(body.toString('utf8'));
  } catch (cause) {
    const problem = cause instanceof RangeError ? 'is nested too deeply' : 'is not JSON';
    throw new ReportRefusal(400, `The body ${problem}`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new ReportRefusal(400, 'The body is not a JSON object');
}

export function sendJson(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** 307: the same request, to another place. */
export function sendRedirect(response: ServerResponse, location: string): void {
  response.writeHead(307, { location, 'content-length': 0 });
  response.end();
}

export function sendRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: ReportRefusal,
  clock: Clock,
): void {
  const body = refusal.toProblemJson();
  response.writeHead(refusal.status, {
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(refusal.close ? { connection: 'close' } : {}),
    ...refusal.headers,
  });
  if (!refusal.close) {
    response.end(body);
    return;
  }
  response.write(body);
  endAfterDrain(request, response, clock);
}

/**
 * Ends an answer whose whole body is written, and with it the connection, but reads on for a moment first: closing a
 * socket that has unread data resets it, which can take the answer away from a client that is still sending.
 */
function endAfterDrain(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  let bytes = 0;
  const finish = () => {
    cancel();
    request.removeListener('data', count);
    response.end();
  };
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) finish();
  };
  const cancel = clock.after(LINGER_MS, finish);
  request.on('data', count);
  request.once('end', finish);
  request.once('close', finish);
}
