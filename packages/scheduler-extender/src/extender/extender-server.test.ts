import { Agent } from 'node:http';
import { connect } from 'node:net';
import { CONNECTIONS_MAX } from '@rollcall/common/http-server.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  busy,
  HEADLESS,
  node,
  REGISTRY_FACADE_LABEL,
  REGULAR,
  service,
  WS_DAEMON_LABEL,
} from '../scoring/scheduler.test-fixtures.ts';
import {
  ask,
  FILTER,
  nodeJson,
  PREDICATES,
  PREEMPT,
  PRIORITIZE,
  startExtender,
  workspaceJson,
} from './extender.test-fixtures.ts';
import { jsonAnswer } from './response.ts';

const ON_READY = { [REGULAR]: 'true', [REGISTRY_FACADE_LABEL]: 'true', [WS_DAEMON_LABEL]: 'true' };
const KNOWN = new Map(
  [
    node({ name: 'good', ...busy(2) }),
    node({ name: 'empty' }),
    node({ name: 'full', ...busy(10) }),
    node({ name: 'down', services: [service({ state: 'not-ready' })] }),
    node({ name: 'headless', labels: { [HEADLESS]: '' } }),
  ].map((one) => [one.name, one]),
);

let extender: Awaited<ReturnType<typeof startExtender>>;

beforeEach(async () => {
  extender = await startExtender(KNOWN);
});

afterEach(() => extender.stop());

async function asked(path: string, body: string | object, status = 200) {
  const reply = await ask(extender.port, path, body);
  expect(reply.status).toBe(status);
  expect(reply.headers['content-type']).toBe(status === 200 ? 'application/json' : 'application/problem+json');
  return JSON.parse(reply.body);
}

describe('filter', () => {
  test('answers a question with names by names (E12)', async () => {
    const NodeNames = ['full', 'good', 'down', 'nowhere', 'headless', 'empty'];
    expect(await asked(FILTER, { Pod: workspaceJson(), Nodes: null, NodeNames })).toEqual({
      Nodes: null,
      NodeNames: ['good', 'empty'],
      FailedNodes: null,
      FailedAndUnresolvableNodes: {
        full: expect.stringContaining('no room'),
        down: 'ws-daemon is not ready on the node',
        nowhere: expect.stringContaining('does not know this node'),
        headless: expect.stringContaining(`no label ${REGULAR}`),
      },
      Error: '',
    });
  });

  test('answers with an empty list if no node passes', async () => {
    expect((await asked(FILTER, { Pod: workspaceJson(), NodeNames: ['down'] })).NodeNames).toEqual([]);
  });

  test('refuses whole nodes (E11)', async () => {
    const Nodes = { items: [nodeJson('good')] };
    expect((await asked(FILTER, { Pod: workspaceJson(), Nodes }, 400)).detail).toContain('nodeCacheCapable: true');
  });

  test('lets other pods pass on every node, known or not (E1)', async () => {
    const NodeNames = ['full', 'nowhere', 'down'];
    const Pod = { metadata: { name: 'web', labels: { component: 'server' } } };
    const passed = { Nodes: null, NodeNames, FailedNodes: null, FailedAndUnresolvableNodes: null, Error: '' };
    expect(await asked(FILTER, { Pod, NodeNames })).toEqual(passed);
    expect(await asked(FILTER, { Pod: {}, NodeNames })).toEqual(passed);
  });

  test.each([
    ['E2: a node that is not for workspaces', {}, {}],
    ['E3: a regular workspace and a node for headless ones', {}, { [HEADLESS]: 'true' }],
    ['E4: a headless workspace and a node for regular ones', { headless: 'true' }, { [REGULAR]: 'true' }],
    ['E5: a prebuild and a node for regular ones', { headless: 'true', workspaceType: 'prebuild' }, { [REGULAR]: '' }],
    ['E5: an old prebuild, which says no more than its type', { workspaceType: 'prebuild' }, { [REGULAR]: '' }],
  ])('keeps a workspace off a node of another kind — %s', async (_name, podLabels, labels) => {
    const other = await startExtender(new Map([['n', node({ name: 'n', labels })]]));
    const { body } = await ask(other.port, FILTER, { Pod: workspaceJson(podLabels), NodeNames: ['n'] });
    await other.stop();
    expect(JSON.parse(body).FailedAndUnresolvableNodes).toEqual({ n: expect.stringContaining('is not for') });
  });

  test('takes names that objects have of their own for names', async () => {
    const NodeNames = ['__proto__', 'constructor', 'good'];
    const answer = await asked(FILTER, { Pod: workspaceJson(), NodeNames });
    expect(answer.NodeNames).toEqual(['good']);
    expect(Object.keys(answer.FailedAndUnresolvableNodes)).toEqual(['__proto__', 'constructor']);
  });
});

describe('prioritize', () => {
  test('scores every node that it was asked about', async () => {
    const NodeNames = ['empty', 'good', 'nowhere'];
    expect(await asked(PRIORITIZE, { Pod: workspaceJson(), NodeNames })).toEqual([
      { Host: 'empty', Score: expect.any(Number) },
      { Host: 'good', Score: 10 },
      { Host: 'nowhere', Score: 0 },
    ]);
    expect(await asked(PRIORITIZE, { Pod: workspaceJson() })).toEqual([]);
  });
});

describe('preempt', () => {
  const victims = { Pods: [{ UID: 'u' }], NumPDBViolations: 0 };
  const NodeNameToMetaVictims = { good: victims, down: victims, ['__proto__']: victims };

  test('leaves the nodes, with their victims, that would not be refused all the same', async () => {
    expect(await asked(PREEMPT, { Pod: workspaceJson(), NodeNameToMetaVictims })).toEqual({
      NodeNameToMetaVictims: { good: victims },
    });
  });

  test('leaves all nodes for other pods', async () => {
    expect(await asked(PREEMPT, { Pod: {}, NodeNameToMetaVictims })).toEqual({ NodeNameToMetaVictims });
  });
});

describe('the predecessor’s endpoint', () => {
  const items = [nodeJson('a', ON_READY), nodeJson('b'), nodeJson('c', { ...ON_READY, [WS_DAEMON_LABEL]: 'no' })];

  test('answers as it did, by the labels of the nodes that came', async () => {
    expect(await asked(PREDICATES, { Pod: workspaceJson(), Nodes: { items }, NodeNames: null })).toEqual({
      Nodes: { metadata: {}, items: [items[0]] },
      NodeNames: null,
      FailedNodes: null,
      FailedAndUnresolvableNodes: {
        b: 'cannot schedule pod ws-1 in node b',
        c: `unexpected node label ${WS_DAEMON_LABEL} value: no`,
      },
      Error: '',
    });
  });

  test('E12: answers a question with names, on which it used to crash', async () => {
    const labels = ON_READY;
    const other = await startExtender(new Map([['n', node({ name: 'n', labels })]]));
    const { body } = await ask(other.port, PREDICATES, { Pod: workspaceJson(), NodeNames: ['n', 'nowhere'] });
    await other.stop();
    expect(JSON.parse(body)).toMatchObject({
      Nodes: null,
      NodeNames: ['n'],
      FailedAndUnresolvableNodes: { nowhere: 'cannot schedule pod ws-1 in node nowhere' },
    });
  });

  test('E8: reports what it cannot read in an answer with status 200', async () => {
    const answer = await asked(PREDICATES, '{"Pod":');
    expect(answer).toMatchObject({ Nodes: null, NodeNames: null, FailedNodes: null, FailedAndUnresolvableNodes: null });
    expect(answer.Error).not.toBe('');
  });
});

describe('a request that is no question', () => {
  test('E10: /status says OK, whatever the method', async () => {
    for (const method of ['GET', 'POST']) {
      expect(await ask(extender.port, '/status', '', { method })).toMatchObject({ status: 200, body: 'OK' });
    }
  });

  test('E9: other methods get 405 with the one that is allowed', async () => {
    for (const path of [FILTER, PRIORITIZE, PREEMPT, PREDICATES]) {
      const reply = await ask(extender.port, path, '', { method: 'GET' });
      expect(reply).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    }
  });

  test('other paths get 404, and a query is no part of the path', async () => {
    await asked('/scheduler/bind', {}, 404);
    await asked(`${FILTER}?x=1`, { Pod: {} });
  });

  test('the absolute form of a request target counts by its path', async () => {
    await asked(`http://elsewhere${FILTER}`, { Pod: {} });
    await asked('http://elsewhere/scheduler/bind', {}, 404);
  });

  test('what is not JSON gets 400 with what is wrong', async () => {
    expect((await asked(FILTER, '{"Pod":{},', 400)).detail).toContain('JSON');
    expect((await asked(PRIORITIZE, '', 400)).title).toBe('Bad Request');
  });

  test('another content type or encoding gets 415', async () => {
    for (const headers of [
      { 'content-type': 'text/plain' },
      {},
      { 'content-type': 'application/json; charset=latin1' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    ]) {
      expect((await ask(extender.port, FILTER, '{}', { headers })).status).toBe(415);
    }
    const headers = { 'content-type': 'application/json; charset=UTF-8' };
    expect((await ask(extender.port, FILTER, { Pod: {} }, { headers })).status).toBe(200);
  });

  test('too large a body gets 413, one without a Content-Length 411, and the connection goes on', async () => {
    const small = await startExtender(KNOWN, { bodyBytesMax: 1000 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const body = JSON.stringify({ Pod: workspaceJson(), NodeNames: Array.from({ length: 500 }, () => 'good') });
    const headers = { 'content-type': 'application/json' };
    expect((await ask(small.port, FILTER, body, { agent })).status).toBe(413);
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    expect((await ask(small.port, FILTER, body, { agent, headers: chunked })).status).toBe(411);
    expect((await ask(small.port, FILTER, { Pod: {} }, { agent })).status).toBe(200);
    agent.destroy();
    await small.stop();
  });

  test('bytes that are not HTTP get 400', async () => {
    const text = await raw(extender.port, 'what is this\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n.*problem\+json/s);
  });
});

describe('time', () => {
  test('is up for a body that does not come, and the next question is answered', async () => {
    const clock = new FakeClock();
    const slow = await startExtender(KNOWN, { clock });
    const reply = raw(slow.port, head(FILTER, 1000));
    await until(() => clock.pendingTimers > 0);
    await clock.advance(900);
    expect(await reply).toMatch(/^HTTP\/1\.1 408 /);
    expect((await ask(slow.port, FILTER, { Pod: {} })).status).toBe(200);
    await slow.stop();
  });

  test('is up for an answer that does not come', async () => {
    const clock = new FakeClock();
    const stuck = await startExtender(KNOWN, { clock, respond: () => new Promise(() => {}) });
    const reply = ask(stuck.port, FILTER, {});
    await until(() => clock.pendingTimers > 0);
    await clock.advance(900);
    expect(await reply).toMatchObject({ status: 503 });
    await stuck.stop();
  });

  test('is up for a client that does not take its answer', async () => {
    const clock = new FakeClock();
    const answer = { ...jsonAnswer(0), body: ' '.repeat(100_000_000) };
    const big = await startExtender(KNOWN, { clock, respond: async () => answer });
    const socket = connect(big.port, '127.0.0.1');
    socket.pause();
    socket.write(head(FILTER, 0));
    await until(() => clock.pendingTimers > 0);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('readable', resolve));
    await clock.advance(900);
    socket.on('error', () => {});
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(100_000_000);
    await big.stop();
  });
});

test('questions that are more than memory is meant for are turned away, and their share is given back', async () => {
  const clock = new FakeClock();
  const small = await startExtender(KNOWN, { clock, bodyBytesMax: 1000 });
  const others = [1, 2, 3, 4].map(() => connect(small.port, '127.0.0.1'));
  for (const other of others) other.write(head(FILTER, 1000) + 'x'.repeat(950));
  // One more looks after connections.
  await until(() => clock.pendingTimers === others.length + 1);
  const body = JSON.stringify({ Pod: {}, NodeNames: ['x'.repeat(600)] });
  await until(async () => (await ask(small.port, FILTER, body)).status === 503);
  for (const other of others) other.destroy();
  await until(() => clock.pendingTimers <= 1);
  expect((await ask(small.port, FILTER, body)).status).toBe(200);
  await small.stop();
});

test('what is only said to come takes nothing from others', async () => {
  const clock = new FakeClock();
  const small = await startExtender(KNOWN, { clock, bodyBytesMax: 1000 });
  const sockets = [1, 2, 3].map(() => connect(small.port, '127.0.0.1'));
  for (const socket of sockets) socket.write(`${head(FILTER, 1000)}{`);
  await until(() => clock.pendingTimers === sockets.length + 1);
  expect((await ask(small.port, FILTER, { Pod: {}, NodeNames: ['x'.repeat(600)] })).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await small.stop();
});

test('a large body arrives whole, in however many pieces', async () => {
  const names = Array.from({ length: 50_000 }, (_, index) => `node-${index}-${'x'.repeat(30)}`);
  const body = JSON.stringify({ Pod: {}, NodeNames: names });
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const reply = await ask(extender.port, FILTER, body, { headers });
  expect(JSON.parse(reply.body).NodeNames).toEqual(names);
});

describe('a connection', () => {
  test('is kept for clients that ask valid questions, and for no others', async () => {
    expect((await ask(extender.port, FILTER, { Pod: {} }, keepAlive())).headers.connection).toBe('keep-alive');
    expect((await ask(extender.port, FILTER, 'x', keepAlive())).headers.connection).toBe('close');
    expect((await ask(extender.port, '/status', '', keepAlive())).headers.connection).toBe('close');
  });

  test('is soon closed when its question was refused before it had all come', async () => {
    const small = await startExtender(KNOWN, { bodyBytesMax: 10 });
    const socket = connect(small.port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(head(FILTER, 1000));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write('x'.repeat(1000));
    await closed;
    await small.stop();
  }, 10_000);

  test('finds a place when others have taken all', async () => {
    const sockets = Array.from({ length: 2 * CONNECTIONS_MAX }, () => connect(extender.port, '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => {});
    expect(await ask(extender.port, FILTER, { Pod: {} })).toMatchObject({ status: 200 });
    for (const socket of sockets) socket.destroy();
  });
});

function keepAlive() {
  return { agent: new Agent({ keepAlive: true, maxSockets: 1 }) };
}

test('a handler that fails is an answer with status 500, and not the end', async () => {
  const fail = () => {
    throw new TypeError('broken');
  };
  const broken = await startExtender(KNOWN, {
    handler: { filter: fail, prioritize: fail, preempt: fail, predicate: fail },
  });
  const reply = await ask(broken.port, FILTER, { Pod: {} });
  expect(reply.status).toBe(500);
  expect(reply.body).not.toContain('broken');
  await broken.stop();
});

test('what was asked and answered is counted', async () => {
  const NodeNames = ['good', 'full', 'down', 'empty'];
  await asked(FILTER, { Pod: workspaceJson(), NodeNames });
  await asked(PRIORITIZE, { Pod: workspaceJson(), NodeNames });
  await asked(FILTER, 'x', 400);
  await asked('/other', 'x', 404);
  await until(async () => (await extender.registry.metrics()).includes('verb="other",code="404"'));
  const text = await extender.registry.metrics();
  expect(text).toContain('rollcall_coordinator_extender_requests_total{verb="filter",code="200"} 1');
  expect(text).toContain('rollcall_coordinator_extender_requests_total{verb="filter",code="400"} 1');
  expect(text).toContain('rollcall_coordinator_extender_verdicts_total{rule="passed"} 2');
  expect(text).toContain('rollcall_coordinator_extender_verdicts_total{rule="room"} 1');
  expect(text).toContain('rollcall_coordinator_extender_duration_seconds_count{verb="prioritize"} 1');
  const [, seconds] = /duration_seconds_sum\{verb="filter"\} (\S+)/.exec(text) ?? [];
  expect(Number(seconds)).toBeLessThan(30);
});

function head(path: string, length: number): string {
  const lines = [`POST ${path} HTTP/1.1`, 'host: x', 'content-type: application/json', `content-length: ${length}`];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Sends bytes, and resolves to what came back when the server says no more for a moment, or closes. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
      socket.end();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.write(bytes);
  });
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 5_000;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error('It did not come about in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
