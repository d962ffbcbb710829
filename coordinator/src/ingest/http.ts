import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseJson } from '@rollcall/common/parse-json.ts';
import { ReportRefusal } from './report-refusal.ts';

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("?)utf-8\2[ \t]*)?$/i;

/** Thrown when the client is gone, so that there is nobody to answer. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client closed the connection');
    this.name = 'ClientGoneError';
  }
}

/** Throws ReportRefusal: 415 for a body that is not plain JSON, 411 without its length, 413 if that is too large. */
export function checkBodyHead(request: IncomingMessage, bytesMax: number): void {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers;
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new ReportRefusal(415, 'A report must be application/json in UTF-8');
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ReportRefusal(415, 'A report must not have a content encoding');
  }
  // Chunks can be of one byte each, and cost much more than what they carry.
  if (length === undefined) throw new ReportRefusal(411, 'A report must have a Content-Length');
  if (Number(length) > bytesMax) throw new ReportRefusal(413, `A report must have at most ${bytesMax} bytes`);
}

/** Returns the whole body, whose length {@link checkBodyHead} has checked. Throws ClientGoneError. */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) return reject(new ClientGoneError());
    const chunks: Buffer[] = [];
    // It is also told when all is well, and an error is not made for nothing ten thousand times a second.
    const leave = () => {
      if (!request.readableEnded) reject(new ClientGoneError());
    };
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', leave);
    request.on('close', leave);
    // Nearly every report arrives in one piece.
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
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

export function sendRefusal(response: ServerResponse, refusal: ReportRefusal): void {
  const body = refusal.toProblemJson();
  response.writeHead(refusal.status, {
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...refusal.headers,
  });
  response.end(body);
}
