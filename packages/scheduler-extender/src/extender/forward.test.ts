import { Agent, createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { systemClock } from '@rollcall/common/clock.ts';
import { listen } from '@rollcall/common/http-server.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { busy, node } from '../scoring/scheduler.test-fixtures.ts';
import {
  ask,
  FILTER,
  nodeJson,
  PREDICATES,
  PRIORITIZE,
  startExtender,
  workspaceJson,
} from './extender.test-fixtures.ts';
import { createForward, type ForwardOptions } from './responder.ts';

const stops: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

const KNOWN = new Map([
  ['good', node({ name: 'good' })],
  ['full', node({ name: 'full', ...busy(10) })],
]);

async function startLeader() {
  const leader = await startExtender(KNOWN);
  stops.push(leader.stop);
  return leader;
}

async function startStandby(leader: ForwardOptions['leader'], options: Partial<ForwardOptions> = {}) {
  const forward = createForward({ leader, clock: systemClock, ...options });
  const clock = options.clock ? { clock: options.clock } : {};
  const standby = await startExtender(new Map(), { leader: () => forward, ...clock });
  stops.push(standby.stop);
  return standby;
}

/** Of a pod that is placed here. */
const OWN = { Pod: workspaceJson() };

const at = (port: number) => () => ({ url: `http://127.0.0.1:${port}/` });

test('a standby answers what the leader answers, right or wrong', async () => {
  const leader = await startLeader();
  const standby = await startStandby(at(leader.port));
  const NodeNames = ['good', 'full'];
  const items = NodeNames.map((name) => nodeJson(name));
  for (const path of [FILTER, PRIORITIZE, PREDICATES]) {
    for (const body of [{ Pod: workspaceJson(), NodeNames }, { Pod: workspaceJson(), Nodes: { items } }, '{"Pod":']) {
      const { status, body: text, headers } = await ask(leader.port, path, body);
      expect(await ask(standby.port, path, body)).toMatchObject({
        status,
        body: text,
        headers: { 'content-type': headers['content-type'] },
      });
    }
  }
});

test('what is large goes through', async () => {
  const leader = await startLeader();
  const standby = await startStandby(at(leader.port));
  const text = 'x'.repeat(100_000);
  const NodeNames = Array.from({ length: 30 }, () => 'good');
  const body = JSON.stringify({ Pod: { ...workspaceJson(), text: text.repeat(30) }, NodeNames });
  const reply = await ask(standby.port, FILTER, body);
  expect(JSON.parse(reply.body).NodeNames).toEqual(NodeNames);
});

test('a standby that knows no leader, or none that has an address, answers 503 at once', async () => {
  const unknown = await startStandby(() => undefined);
  expect(await ask(unknown.port, FILTER, OWN)).toMatchObject({ status: 503 });
  const odd = await startStandby(() => ({ url: 'nonsense' }));
  expect(await ask(odd.port, FILTER, OWN)).toMatchObject({ status: 503 });
});

test('a leader that is gone is a refusal at once', async () => {
  const leader = await startLeader();
  await leader.stop();
  const standby = await startStandby(at(leader.port));
  const reply = await ask(standby.port, FILTER, OWN);
  expect(reply.status).toBe(503);
  expect(JSON.parse(reply.body).detail).toBe('The leader did not answer');
});

test('what is left of a question that could not be passed on does not stop the next on its connection', async () => {
  const leader = await startLeader();
  await leader.stop();
  const standby = await startStandby(at(leader.port));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stops.push(() => agent.destroy());
  const large = JSON.stringify(OWN) + ' '.repeat(3_000_000);
  for (let round = 0; round < 2; round += 1) {
    expect(await ask(standby.port, FILTER, large, { agent })).toMatchObject({ status: 503 });
  }
});

test('a leader that takes the question and says nothing is given half a second', async () => {
  const taken: unknown[] = [];
  const mute = createTcpServer((socket) => {
    taken.push(socket);
    socket.on('error', () => {});
  });
  const { port } = await new Promise<{ port: number }>((resolve) => {
    mute.listen(0, '127.0.0.1', () => resolve(mute.address() as { port: number }));
  });
  stops.push(() => mute.close());
  const clock = new FakeClock();
  const standby = await startStandby(at(port), { clock });
  const reply = ask(standby.port, FILTER, OWN);
  await until(() => taken.length === 1);
  await clock.advance(499);
  expect(clock.pendingTimers).toBeGreaterThan(0);
  await clock.advance(1);
  expect(await reply).toMatchObject({ status: 503 });
});

test('a leader that has begun to answer within half a second is given the time to end', async () => {
  let end = () => {};
  const slow = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"NodeNames":');
    end = () => response.end('[]}');
  });
  const { port } = await listen(slow, { host: '127.0.0.1', port: 0 });
  stops.push(() => slow.close());
  const clock = new FakeClock();
  const standby = await startStandby(at(port), { clock });
  const begun = new Promise<void>((resolve) => slow.once('request', () => resolve()));
  const reply = ask(standby.port, FILTER, OWN);
  await begun;
  const timers = clock.pendingTimers;
  // The head of the answer is there: who waits for it waits no longer.
  await until(() => clock.pendingTimers < timers);
  await clock.advance(300);
  end();
  expect(await reply).toMatchObject({ status: 200, body: '{"NodeNames":[]}' });
});

test('a question goes round no circle: it is passed on once', async () => {
  const seen: string[] = [];
  const ports: number[] = [];
  const standbys = await Promise.all(
    [0, 1].map((index) =>
      startStandby(() => {
        seen.push(`standby ${index}`);
        return { url: `http://127.0.0.1:${ports[1 - index]}` };
      }),
    ),
  );
  ports.push(...standbys.map(({ port }) => port));
  expect(await ask(ports[0] ?? 0, FILTER, OWN)).toMatchObject({ status: 503 });
  expect(seen).toEqual(['standby 0']);
});

test('an answer that breaks off breaks off, and is not taken for a whole one', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"Nodes":');
    setImmediate(() => response.destroy());
  });
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  stops.push(() => server.close());
  const standby = await startStandby(at(port));
  await expect(ask(standby.port, FILTER, OWN)).rejects.toThrow();
});

test('no more of a question goes on than what it takes to answer it', async () => {
  let heads: IncomingMessage['headers'] = {};
  const server = createServer((request, response) => {
    heads = request.headers;
    request.resume().on('end', () => response.end('{}'));
  });
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  stops.push(() => server.close());
  const standby = await startStandby(at(port));
  const headers = { 'content-type': 'application/json', authorization: 'Bearer secret', cookie: 'a=b' };
  const body = JSON.stringify(OWN);
  await ask(standby.port, FILTER, body, { headers });
  const { host: _host, connection: _connection, ...rest } = heads;
  expect(rest).toEqual({
    'content-type': 'application/json',
    'content-length': String(body.length),
    'x-rollcall-forwarded': '1',
  });
});

describe('a standby answers by itself, with or without a leader,', () => {
  const plain = { ...workspaceJson(), metadata: { name: 'plain', labels: { component: 'other' } } };
  const labels = {
    'gitpod.io/workload_workspace_regular': 'true',
    'gitpod.io/ws-daemon_ready_ns_default': 'true',
    'gitpod.io/registry-facade_ready_ns_default': 'true',
  };
  const items = [nodeJson('ready', labels), nodeJson('bare')];

  test.each([FILTER, PRIORITIZE, PREDICATES])(
    'what is asked at %s about a pod that is not placed here',
    async (path) => {
      const leader = await startLeader();
      for (const standby of [
        await startStandby(() => undefined),
        await startStandby(() => ({ url: 'http://127.0.0.1:1' })),
      ]) {
        for (const body of [
          { Pod: plain, NodeNames: ['any'] },
          { NodeNames: [], Pod: plain },
          { Pod: {}, NodeNames: null },
        ]) {
          const reply = await ask(standby.port, path, body);
          expect(reply).toMatchObject({ status: 200, body: (await ask(leader.port, path, body)).body });
        }
      }
    },
  );

  test('what the predecessor is asked about whole Nodes, which bring their labels', async () => {
    const standby = await startStandby(() => undefined);
    const reply = await ask(standby.port, PREDICATES, { Pod: workspaceJson(), Nodes: { items } });
    expect(JSON.parse(reply.body)).toMatchObject({
      Nodes: { items: [{ metadata: { name: 'ready' } }] },
      FailedAndUnresolvableNodes: { bare: expect.stringContaining('cannot schedule pod') },
    });
    expect(await ask(standby.port, PREDICATES, { Pod: workspaceJson(), NodeNames: ['ready'] })).toMatchObject({
      status: 503,
    });
  });
});

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error('It did not come about in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
