import type { IncomingMessage, Server } from 'node:http';
import { describeError } from '@rollcall/common/coded-error.ts';
import { createPlainServer } from '@rollcall/common/http-server.ts';
import { isLoopback } from '@rollcall/common/loopback.ts';

/** What the console can be asked. Each document is made when it is asked for. */
export type ConsoleSource = {
  nodes: () => unknown;
  /** `undefined` for a node that is not known. */
  node: (name: string) => unknown;
  plan: () => unknown;
  rules: () => unknown;
  /** Which nodes a pod can go to; `undefined` for a pod that is not there. Rejects where it cannot be looked up. */
  schedule: (pod: { namespace: string; name: string }) => Promise<unknown>;
};

/** `host`: the address that it will listen on. */
export function createConsoleServer(source: ConsoleSource, host: string): Server {
  return createPlainServer(async (request, response) => {
    const answer = answerTo(request, source, host).catch((err: unknown) => problem(502, describeError(err)));
    const { status, document } = await answer;
    response.writeHead(status, {
      'content-type': status === 200 ? 'application/json' : 'application/problem+json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    });
    response.end(`${JSON.stringify(document, null, 2)}\n`);
  });
}

type Answer = { status: number; document: unknown };

async function answerTo(request: IncomingMessage, source: ConsoleSource, host: string): Promise<Answer> {
  if (isLoopback(host) && !isLoopback(hostNamed(request))) {
    return problem(403, 'This console answers only requests to a loopback address');
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return problem(405, 'Only GET is served here');
  const url = URL.parse(`http://localhost${request.url}`);
  const path = url?.pathname ?? '';
  const [, name] = /^\/v1\/nodes\/([^/]+)$/.exec(path) ?? [];
  if (name !== undefined) {
    const document = source.node(name);
    return document ? { status: 200, document } : problem(404, `There is no node ${name}`);
  }
  if (path === '/v1/nodes') return { status: 200, document: source.nodes() };
  if (path === '/v1/plan') return { status: 200, document: source.plan() };
  if (path === '/v1/rules') return { status: 200, document: source.rules() };
  if (path === '/v1/schedule') {
    const [, namespace, pod] = /^([^/]+)\/([^/]+)$/.exec(url?.searchParams.get('pod') ?? '') ?? [];
    if (namespace === undefined || pod === undefined) return problem(400, 'Name the pod: ?pod=NAMESPACE/NAME');
    const document = await source.schedule({ namespace, name: pod });
    return document ? { status: 200, document } : problem(404, `There is no pod ${namespace}/${pod}`);
  }
  return problem(404, 'Try /v1/nodes, /v1/nodes/NAME, /v1/plan, /v1/rules or /v1/schedule?pod=NAMESPACE/NAME');
}

/** RFC 9457. */
function problem(status: number, detail: string): Answer {
  return { status, document: { status, detail } };
}

/** The host name of a request, without its port. */
function hostNamed({ headers }: IncomingMessage): string {
  return (headers.host ?? '').replace(/:\d+$/, '');
}
