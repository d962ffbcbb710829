import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';

const SECRET = 'a secret of the metadata service';
let embedded: EmbeddedRig;
let leader: Coordinator;
let standby: Coordinator;
/** Port of a listener that only the machine of the standby can reach. */
let port: number;
let reached = 0;
const neighbour = createServer((socket) => {
  reached += 1;
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${SECRET.length}\r\n\r\n${SECRET}`);
});

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 1, coordinators: 2 });
  const { rig } = embedded;
  await rig.allReady(60_000);
  leader = await rig.leader();
  const other = rig.coordinators.find((coordinator) => coordinator !== leader);
  if (!other) throw new Error('There is no standby');
  standby = other;
  await waitFor('the standby to forward', async () => (await answeredBy('/v1/services')) === leader.name);
  await once(neighbour.listen(0, '127.0.0.1'), 'listening');
  port = (neighbour.address() as { port: number }).port;
});
afterAll(async () => {
  neighbour.close();
  await embedded?.stop();
});

beforeEach(() => {
  reached = 0;
});

/** Sends a request with this target to a console, byte for byte, and returns the whole response. */
async function send(target: string, method = 'GET', { to = standby, body = '' } = {}): Promise<string> {
  const { hostname, port: consolePort } = new URL(to.consoleUrl);
  const socket = connect(Number(consolePort), hostname);
  // Not half-closed: a server of Node.js drops a request whose client has ended the connection.
  const content = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`];
  const head = [`${method} ${target} HTTP/1.1`, `Host: ${hostname}:${consolePort}`, 'Connection: close', ...content];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return Buffer.concat(await socket.toArray()).toString();
}

/** The name of the replica whose document came back. */
async function answeredBy(target: string): Promise<string | undefined> {
  return /"name": ?"(coordinator[^"]*)"/.exec(await send(target))?.[1];
}

/** Every Node and every object of rollcall, as they are. */
async function everyObject(): Promise<string> {
  const { api } = embedded.controlPlane;
  const paths = ['/api/v1/nodes', '/api/v1/pods', '/api/v1/configmaps', '/api/v1/secrets', '/api/v1/events'];
  const lists = await Promise.all(paths.map((path) => api.list(path)));
  return JSON.stringify(lists);
}

test('the console changes nothing, whatever it is asked', async () => {
  const before = await everyObject();
  const node = `/v1/nodes/${embedded.rig.node(0).name}`;
  const paths = ['/', '/v1/nodes', node, '/v1/services', '/v1/plan', '/v1/audit', '/v1/rules', '/v1/diff'];
  const set = {
    apiVersion: 'labels.banzaicloud.io/v1alpha1',
    kind: 'NodePoolLabelSet',
    metadata: { name: 'gold', namespace: 'rollcall' },
    spec: { labels: { 'example.org/tier': 'gold' } },
  };
  const body = JSON.stringify({ objects: [set], rules: { 'accelerators/golden': 'example.org/tier=gold' } });
  for (const to of [leader, standby]) {
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await send(path, method, { to, ...(method === 'GET' ? {} : { body }) });
        const isServed = method === (path === '/v1/diff' ? 'POST' : 'GET');
        // The page may not have been built.
        expect(answer, `${method} ${path}`).toMatch(isServed ? /^HTTP\/1.1 (200|404) / : /^HTTP\/1.1 405 /);
      }
    }
  }
  expect(await everyObject()).toBe(before);
});

const HOSTILE = [
  '//HOST/x',
  '///HOST/x',
  '/\\HOST/x',
  '\\\\HOST/x',
  '/./%2f/HOST/x',
  '/.//HOST/x',
  '/\t/HOST/x',
  '//user@HOST/x',
  '@HOST/x',
  ':1@HOST/x',
  'http://HOST/x',
  'http:HOST/x',
  'http:\\\\HOST/x',
  'http://127.0.0.1:1@HOST/x',
  'https://HOST/x',
  'HTTP://HOST/v1/nodes',
  '*',
];

test.each(HOSTILE)('the console of a standby sends a request for %j nowhere but to the leader', async (target) => {
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
    const answer = await send(target.replace('HOST', `127.0.0.1:${port}`), method);
    expect(answer).toMatch(/^HTTP\/1\.1 (200|400|404|405) /);
    expect(answer).not.toContain(SECRET);
  }
  expect(reached).toBe(0);
});

test('the console of a standby answers the absolute form by its path alone, from the leader', async () => {
  expect(await answeredBy(`http://127.0.0.1:${port}/v1/services`)).toBe(leader.name);
  expect(await answeredBy('/v1/services')).toBe(leader.name);
  expect(reached).toBe(0);
});
