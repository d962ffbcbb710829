import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { failStandIn, runStandIn } from './command-line.ts';
import { FaultyListener } from './faulty-listener.ts';
import { servingCertificate } from './serving-certificate.ts';

interface Answer {
  readonly status: number;
  readonly body: object;
}

/** What a registry that knows no image says (distribution spec, sections on API version check and pulling manifests). */
function answerTo(method: string | undefined, path: string | undefined): Answer {
  if (method !== 'GET' && method !== 'HEAD') return refusal(405, 'UNSUPPORTED', 'The operation is unsupported.');
  if (path === '/v2/' || path === '/v2') return { status: 200, body: {} };
  if (path !== undefined && /^\/v2\/.+\/manifests\/[^/]+$/.test(path)) {
    return refusal(404, 'MANIFEST_UNKNOWN', 'manifest unknown');
  }
  return refusal(404, 'NAME_UNKNOWN', 'repository name not known to registry');
}

function refusal(status: number, code: string, message: string): Answer {
  return { status, body: { errors: [{ code, message, detail: null }] } };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Docker-Distribution-Api-Version': 'registry/2.0',
  });
  response.end(JSON.stringify(body));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '31750' },
      'cert-file': { type: 'string' },
      'key-file': { type: 'string' },
      'exit-with-input': { type: 'boolean', default: false },
    },
  });
  let requests = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++;
    request.resume();
    await listener.untilNotHanging();
    const { fault } = listener;
    if (fault.kind === 'slow') await sleep(fault.delayMs);
    if (fault.kind === 'status') return send(response, refusal(fault.status, 'UNKNOWN', 'unknown error'));
    send(response, answerTo(request.method, request.url));
  }

  const certificate = await servingCertificate(values['cert-file'], values['key-file'], 'registry-facade');
  // No time limit on idle connections.
  const timeouts = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server = createServer({ ...certificate, ...timeouts }, handle);
  server.on('tlsClientError', () => {});
  const listener = new FaultyListener({
    host: values.host,
    port: Number(values.port),
    serve: (socket) => server.emit('connection', socket),
    answersRequests: true,
  });
  await runStandIn(listener, () => requests, values['exit-with-input']);
}

main().catch(failStandIn);
