import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { DEFAULT_SCORE_WEIGHTS } from '@rollcall/coordinator/model/score-weights.ts';
import { ExtenderService } from '../scoring/extender-service.ts';
import type { SchedulableNode } from '../scoring/schedulable-node.ts';
import { LIMITS, WORKSPACES } from '../scoring/scheduler.test-fixtures.ts';
import { readSchedulingPod } from '../scoring/scheduling-pod.ts';
import { createExtenderServer, type ExtenderServerOptions } from './extender-server.ts';
import { createExtenderMetrics } from './metrics.ts';
import { createResponder, type ResponderOptions } from './responder.ts';
import type { Responder } from './response.ts';

export const FILTER = '/scheduler/filter';
export const PRIORITIZE = '/scheduler/prioritize';
export const PREEMPT = '/scheduler/preempt';
export const PREDICATES = '/scheduler/predicates/gitpod';

export type Reply = { status: number; headers: IncomingHttpHeaders; body: string };

/** An extender on a free loopback port that knows the given nodes. `respond` replaces its own answers. */
export async function startExtender(
  nodes: ReadonlyMap<string, SchedulableNode>,
  options: Partial<
    ExtenderServerOptions & Pick<ResponderOptions, 'bodyBytesMax' | 'handler' | 'leader' | 'nodes'>
  > = {},
) {
  const { bodyBytesMax, clock = systemClock, ...rest } = options;
  const registry = new Registry();
  const metrics = createExtenderMetrics(registry);
  const handler = options.handler ?? deskOver(nodes, clock);
  const limit = bodyBytesMax === undefined ? {} : { bodyBytesMax };
  const { leader = () => undefined, nodes: fleetSize = () => 100_000 } = options;
  const respond: Responder = createResponder({ handler, readPod, leader, nodes: fleetSize, metrics, ...limit });
  const server = createExtenderServer({ respond, metrics, clock, logger: silentLogger(), ...rest });
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  const stop = () => closeServer(server, 0);
  return { server, port, registry, stop };
}

/** By what is so by default. */
export const readPod = (pod: unknown) => readSchedulingPod(pod, WORKSPACES);

export function deskOver(nodes: ReadonlyMap<string, SchedulableNode>, clock: Clock = systemClock): ExtenderService {
  const namespace = 'default';
  const node = (name: string) => nodes.get(name);
  return new ExtenderService({ clock, limits: LIMITS, weights: DEFAULT_SCORE_WEIGHTS, namespace, node });
}

/** Posts JSON, on a connection of its own unless `options` has an agent, and reads the whole answer. */
export function ask(
  port: number,
  path: string,
  body: string | Buffer | object,
  options: RequestOptions = {},
): Promise<Reply> {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) },
        ...options,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, body: Buffer.concat(chunks).toString('utf8') });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(payload);
  });
}

/** A Pod as the scheduler sends it. */
export function workspaceJson(labels: Record<string, string> = {}) {
  return {
    metadata: {
      name: 'ws-1',
      namespace: 'default',
      uid: 'uid-1',
      labels: { component: 'workspace', headless: 'false', workspaceType: 'regular', ...labels },
    },
    spec: { containers: [{ name: 'workspace', image: 'img' }] },
  };
}

/** A Node as the scheduler sends it. */
export function nodeJson(name: string, labels: Record<string, string> = {}) {
  return { metadata: { name, labels }, spec: {}, status: { nodeInfo: {} } };
}
