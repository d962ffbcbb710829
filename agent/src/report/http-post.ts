import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, Agent as PlainAgent } from 'node:http';
import { readAnswer } from '@rollcall/common/http-body.ts';
import { REPLY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { createLookup } from '../host-lookup.ts';

export type HttpAnswer = { status: number; headers: IncomingHttpHeaders; body: string };

export type HttpPost = {
  url: string;
  agent: PlainAgent;
  /** For `https:` only. */
  tls: { ca?: string; servername?: string };
  headers: Readonly<Record<string, string>>;
  /** Called for each transmission. */
  body: () => string;
  signal: AbortSignal;
};

/** A kept connection turned out to be closed by the other side: nothing is known to be wrong with the other side. */
class StaleConnection extends Error {}

/** Posts once, or twice when the kept connection had been closed meanwhile. Rejects with what the socket says. */
export async function post(request: HttpPost): Promise<HttpAnswer> {
  try {
    return await transmit(request);
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    return transmit(request);
  }
}

/** Takes a URL apart that has been parsed before (`originOf`), which takes more CPU than to send a report. */
function addressOf(url: string): { hostname: string; port?: string; path: string } {
  const [, address, name, port, path = '/'] = /^https?:\/\/(?:\[(.+?)\]|([^:/]+))(?::(\d+))?(\/.*)?$/.exec(url) ?? [];
  return { hostname: address ?? name ?? '', path, ...(port === undefined ? {} : { port }) };
}

function transmit({ url, agent, tls, headers, body, signal }: HttpPost): Promise<HttpAnswer> {
  // Not imported: that costs 16 MB of memory more (see packages/common/src/http-server.ts).
  const { request: open } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const payload = Buffer.from(body());
  return new Promise((resolve, reject) => {
    const request: ClientRequest = open({
      ...addressOf(url),
      method: 'POST',
      agent,
      lookup: createLookup(signal),
      ...tls,
      headers: { ...headers, 'content-length': payload.length },
    });
    const abort = () => request.destroy(signal.reason instanceof Error ? signal.reason : new Error('Aborted'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    request.on('close', () => signal.removeEventListener('abort', abort));
    request.on('error', (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(stale ? new StaleConnection('The kept connection was closed', { cause: error }) : error);
    });
    request.on('response', (response) => collect(response).then(resolve, reject));
    request.end(payload);
  });
}

async function collect(response: IncomingMessage): Promise<HttpAnswer> {
  const { statusCode = 0, headers } = response;
  return { status: statusCode, headers, body: await readAnswer(response, REPLY_BYTES_MAX) };
}
