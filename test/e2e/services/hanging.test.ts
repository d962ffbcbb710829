// A service that hangs, while its port goes on accepting connections: each kind of probe that waits for an answer finds
// it, and `tcp` does not. ws-daemon and registry-facade of Gitpod are in test/e2e/gitpod/hanging.test.ts.

import { createServer, type Server } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

/** `grpc.health.v1.HealthCheckResponse { status: SERVING }`, framed. */
const SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
const KINDS = ['http', 'grpc', 'tcp'] as const;
const label = (kind: string) => `service.rollcall.dev/${kind}`;

let embedded: EmbeddedRig;
let node: SimulatedNode;
let isHanging = false;
let http: Server;
let grpc: Http2Server;
const sessions = new Set<Http2Session>();

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 1, prepare: applyNodeServiceCrd });
  node = embedded.rig.node(0);
  // What hangs accepts requests, and answers none.
  http = createServer((_request, response) => void (isHanging || response.end('ok')));
  grpc = createHttp2Server();
  grpc.on('session', (session) => sessions.add(session));
  grpc.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    if (isHanging) return;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(SERVING);
  });
  for (const server of [http, grpc]) await new Promise<void>((done) => server.listen(0, node.address, done));
  const ports = { http: portOf(http), grpc: portOf(grpc), tcp: portOf(http) };
  for (const kind of KINDS) {
    const check = { name: 'answers', [kind]: { port: ports[kind] }, period: '300ms', timeout: '300ms' };
    await embedded.controlPlane.api.post(NODE_SERVICES, nodeService(kind, { checks: [check] }));
  }
  for (const kind of KINDS) await embedded.rig.history.until(node.name, label(kind), 'true', 60_000);
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  http?.closeAllConnections();
  http?.close();
  grpc?.close();
  await embedded?.stop();
});

function portOf(server: Server | Http2Server): number {
  return (server.address() as AddressInfo).port;
}

test('loses the label by http and by grpc, and keeps that by tcp; it gets them back when it answers again', async () => {
  const fromMs = performance.now();
  isHanging = true;
  for (const kind of ['http', 'grpc'] as const) {
    await embedded.rig.history.until(node.name, label(kind), undefined, 30_000);
  }
  expect(embedded.rig.history.since(fromMs, label('tcp'), node.name)).toEqual([]);
  isHanging = false;
  for (const kind of ['http', 'grpc'] as const) {
    await embedded.rig.history.until(node.name, label(kind), 'true', 60_000);
  }
});
