import { closeServer, createPlainServer, listen } from '@rollcall/common/http-server.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { fuzzTimeoutMs } from '@rollcall/common/testing/fuzz.ts';
import {
  hostileRequests,
  problemOfResponse,
  requestProperty,
  sendBytes,
  statusOf,
} from '@rollcall/common/testing/hostile-http.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConsoleSource, createConsoleServer } from './console-server.ts';

const RUNS = 300;
const PATHS = [
  '/',
  '/v1/nodes',
  '/v1/nodes/%',
  '/v1/services',
  '/v1/plan',
  '/v1/audit',
  '/v1/rules?label=%',
  '/v1/schedule?pod=a/b',
  '/v1/stream?after=x',
  '/v1/diff',
];
const list = { head: {}, list: 'items', items: [] };

function consoleOf(leaderUrl: () => string | undefined) {
  const source: ConsoleSource = {
    nodes: () => list,
    node: (name) => ({ name }),
    plan: () => list,
    services: () => ({}),
    audit: () => list,
    rules: async () => ({}),
    ruleOnNode: () => ({}),
    schedule: async () => list,
    diff: async () => list,
    readers: () => 0,
    stream: ({ to }) => void to.end(),
    page: () => ({ body: Buffer.from(''), headers: { 'content-type': 'text/html' } }),
    leaderUrl,
  };
  return createConsoleServer(source, '127.0.0.1', new FakeClock());
}

/** Requests that the leader received, and those that reached a listener which is none of a leader. */
const received: string[] = [];
let strayed = 0;
const leader = createPlainServer((request, response) => {
  received.push(`${request.method} ${request.headers['x-rollcall-forwarded']}`);
  request.resume();
  response.end('{}');
});
const neighbour = createPlainServer((_request, response) => {
  strayed += 1;
  response.end('{}');
});
let leaderUrl = '';
const alone = consoleOf(() => undefined);
const standby = consoleOf(() => leaderUrl);
const servers = [leader, neighbour, alone, standby];
const ports: number[] = [];

beforeAll(async () => {
  for (const server of servers) ports.push((await listen(server, { host: '127.0.0.1', port: 0 })).port);
  leaderUrl = `http://127.0.0.1:${ports[0]}`;
});
afterAll(() => Promise.all(servers.map((server) => closeServer(server, 0))));

test.each([
  ['of a leader', 2],
  ['of a standby', 3],
])(
  'the console %s answers any bytes or closes the connection, and sends none of them elsewhere',
  {
    timeout: fuzzTimeoutMs(RUNS),
  },
  async (_whose, index) => {
    const port = ports[index] ?? 0;
    const elsewhere = `127.0.0.1:${ports[1]}`;
    const targets = [...PATHS, `//${elsewhere}/x`, `http://${elsewhere}/x`, `@${elsewhere}`, elsewhere];
    await fc.assert(
      fc.asyncProperty(hostileRequests(targets), async (request) => {
        expect(problemOfResponse(await sendBytes(port, request))).toBeUndefined();
        expect(await statusOf(port, '/v1/services')).toBe(200);
      }),
      requestProperty(RUNS),
    );
    expect(strayed).toBe(0);
    // Each request that the leader receives bears the mark.
    expect(received.filter((line) => !/^(GET|HEAD|POST) 1$/.test(line))).toEqual([]);
  },
);
