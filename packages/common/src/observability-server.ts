import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { HealthChecks } from './health.ts';
import { closeServer, createPlainServer, listen, parseListenAddress } from './http-server.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Registry } from './metrics.ts';
import { readTarget } from './request-target.ts';

export type ObservabilityOptions = {
  /** Liveness: false only when a restart would help. */
  health: HealthChecks;
  readiness: HealthChecks;
  registry: Registry;
};

const CLOSE_GRACE_MS = 200;
/** For a client to read the metrics: what is not read takes memory here. */
const TAKE_MS = 10_000;

/**
 * Opens the server at the address that `--listen` names, until the program stops. Returns the address as bound, or
 * `off`. Throws LISTEN_FAILED.
 */
export async function openObservability(text: string, options: ObservabilityOptions, life: Lifecycle): Promise<string> {
  const parsed = parseListenAddress(text);
  if ('problem' in parsed || !parsed.address) return 'off';
  const server = createObservabilityServer(options);
  const { host, port } = await listen(server, parsed.address);
  life.onStop('health listener', () => closeServer(server, CLOSE_GRACE_MS));
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The server behind `--listen`: /healthz, /readyz (`?verbose`, `/healthz/NAME`) and /metrics. */
export function createObservabilityServer(options: ObservabilityOptions): Server {
  const metrics = renderTogether(options.registry);
  return createPlainServer((request, response) => {
    answer(request, response, { ...options, metrics }).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
      response.end(`${error instanceof Error ? error.message : String(error)}\n`);
    });
  });
}

/**
 * Returns a function that renders the metrics once for all who ask in the same turn of the event loop. Those who do not
 * read their answer share its memory.
 */
function renderTogether(registry: Registry): () => Promise<Buffer> {
  let next: Promise<Buffer> | undefined;
  const render = async () => {
    await setImmediate();
    try {
      return Buffer.from(await registry.metrics());
    } finally {
      next = undefined;
    }
  };
  return () => {
    next ??= render();
    return next;
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ObservabilityOptions & { metrics: () => Promise<Buffer> },
): Promise<void> {
  const url = readTarget(request.url);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return text(response, 405, 'only GET is served here');
  }
  const [, endpoint, check] = url?.pathname.split('/') ?? [];
  if (endpoint === 'metrics' && check === undefined) {
    const body = await options.metrics();
    const late = setTimeout(() => response.destroy(), TAKE_MS);
    response.once('close', () => clearTimeout(late));
    response.writeHead(200, { 'content-type': options.registry.contentType, 'cache-control': 'no-store' });
    response.end(body);
    return;
  }
  // /healthz/healthz is how controller-runtime names the check of an endpoint that has but one.
  const verdict = checksOf(endpoint, options)?.evaluate(check === endpoint ? undefined : check || undefined);
  if (!verdict) return text(response, 404, 'try /healthz, /readyz or /metrics');
  const detailed = !verdict.healthy || url?.searchParams.has('verbose');
  const summary = `${endpoint} check ${verdict.healthy ? 'passed' : 'failed'}`;
  text(response, verdict.healthy ? 200 : 503, detailed ? `${verdict.report}\n${summary}` : 'ok');
}

function checksOf(endpoint: string | undefined, options: ObservabilityOptions): HealthChecks | undefined {
  if (endpoint === 'healthz') return options.health;
  if (endpoint === 'readyz') return options.readiness;
  return undefined;
}

function text(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`${body}\n`);
}
