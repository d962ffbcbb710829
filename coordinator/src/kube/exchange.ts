import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { CodedError } from '@rollcall/common/coded-error.ts';
import { readAnswer } from '@rollcall/common/http-body.ts';
import { KubeStatusError } from './client.ts';
import type { Destination } from './connection.ts';
import type { KubeStatus } from './objects.ts';

/** One request as it goes over the wire. `path` includes the query. */
export type WireRequest = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
};

/** A connection that the other side had closed while it was idle: nothing of the request was looked at. */
export class StaleSocketError extends Error {}

/** Resolves with the response as soon as its headers are there. Throws what the socket throws, or the signal's reason. */
export function sendRequest(
  destination: Destination,
  wire: WireRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const { basePath, headers, ...options } = destination;
    const send = destination.protocol === 'http:' ? plainRequest : tlsRequest;
    const outgoing = send({
      ...options,
      method: wire.method,
      path: `${basePath}${wire.path}`,
      headers: { ...(headers as Record<string, string>), ...wire.headers },
    });
    const abort = () => outgoing.destroy(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    outgoing.once('close', () => signal.removeEventListener('abort', abort));
    let answer: IncomingMessage | undefined;
    outgoing.once('response', (response) => {
      answer = response;
      resolve(response);
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // Otherwise the reader of the answer only learns that it was cut off.
      answer?.destroy(error);
      const stale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(stale ? new StaleSocketError('The idle connection was closed', { cause: error }) : error);
    });
    outgoing.end(wire.body);
  });
}

/** The whole body as text. Throws KUBE_UNREACHABLE when it is larger than `bytesMax`, and what the socket throws. */
export function readText(response: IncomingMessage, bytesMax: number): Promise<string> {
  return readAnswer(response, bytesMax, (problem) => new CodedError('KUBE_UNREACHABLE', problem));
}

const ERROR_BODY_BYTES_MAX = 1024 * 1024;

/** The error that an answer other than 2xx stands for; reads its body. */
export async function statusError(
  response: IncomingMessage,
  fields: Record<string, unknown>,
): Promise<KubeStatusError> {
  const status = response.statusCode ?? 0;
  const details = parseStatus(await readText(response, ERROR_BODY_BYTES_MAX));
  const seconds = Number(response.headers['retry-after'] ?? details.details?.retryAfterSeconds ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
  return new KubeStatusError(status, details, retryAfterMs, fields);
}

/** Parses a Status. A proxy before the API server answers with text or a page of its own. */
function parseStatus(text: string): KubeStatus {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object') return value as KubeStatus;
  } catch {
    // Not JSON: told below in the server's own words.
  }
  const words = text.trim().slice(0, 200);
  return words === '' ? {} : { message: words };
}
