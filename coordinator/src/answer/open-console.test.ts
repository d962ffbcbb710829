import { createServer, get, request } from 'node:http';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stage } from '../controller/node-controller.test-fixtures.ts';
import { serviceOf } from '../model/services.test-fixtures.ts';
import { stage as catalogStage } from '../state/services/service-registry.test-fixtures.ts';
import { FleetNews } from './console/fleet-news.ts';
import { type ConsoleOptions, openConsole } from './open-console.ts';

let life: Lifecycle;
beforeEach(() => {
  life = new Lifecycle(silentLogger());
});
afterEach(() => life.stop());

test('a pod with an impossible name does not exist, and the API server is not asked for it', async () => {
  const asked: unknown[] = [];
  const client = {
    request: async (request: unknown) => {
      asked.push(request);
      return { items: [] };
    },
  };
  const options = {
    client,
    nodes: { names: () => [] },
    leadershipState: { leads: () => true },
    replica: () => ({}),
  } as unknown as ConsoleOptions;
  const bound = await openConsole('127.0.0.1:0', options, life);
  const status = (pod: string) =>
    new Promise((resolve, reject) => {
      get(
        `http://127.0.0.1:${bound?.port}/v1/schedule?pod=${encodeURIComponent(pod)}`,
        { agent: false },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      ).on('error', reject);
    });
  for (const pod of ['a/b,status.phase=Pending', 'a/b=c', '../b', 'a/..', '\0/x', 'A/b', `a/${'b'.repeat(300)}`]) {
    expect(await status(pod)).toBe(404);
  }
  expect(asked).toEqual([]);
  expect(await status('default/ws-1.x')).toBe(404);
  expect(asked).toHaveLength(1);
});

type Asked = { status: number | undefined; document: Record<string, unknown> };

function ask(port: number | undefined, path: string, body?: object): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const headers = body ? { 'content-type': 'application/json' } : {};
    const outgoing = request(
      { host: '127.0.0.1', port, path, method: body ? 'POST' : 'GET', headers, agent: false },
      (response) => {
        response.toArray().then((chunks) => {
          resolve({ status: response.statusCode, document: JSON.parse(Buffer.concat(chunks).toString()) });
        }, reject);
      },
    );
    outgoing.on('error', reject).end(body && JSON.stringify(body));
  });
}

/** A console over two nodes, `b` and `a`. */
async function opened(change: object = {}) {
  const { queries, evaluator, options: labelerOptions, addNode, clock } = stage();
  for (const name of ['b', 'a']) addNode(name);
  const replica = () => ({ name: 'r' });
  const news = new FleetNews({ clock, summary: (name) => ({ name }) as never, replica: replica as never });
  const { serviceRegistry } = catalogStage([serviceOf()]);
  const config = { watchedServices: [], poolLabels: [], startupGateRequires: [] };
  const explained = function* (names: readonly string[]) {
    yield undefined;
    return { pod: { name: 'p' }, limits: {}, nodes: names.map((name) => ({ name })) };
  };
  const explainPod = async (_pod: unknown, names: readonly string[]) => explained(names);
  const ledger = { summary: () => ({ since: 'then' }), entries: () => [{ node: 'a' }] };
  const client = { request: async () => ({ items: [{ metadata: { name: 'p' } }] }) };
  const options = {
    ...{ nodes: queries, evaluator, labelerOptions },
    ...{ config, services: () => [serviceOf()], serviceRegistry, rules: undefined, explainPod, ledger, news },
    refusedObjects: () => [],
    servicesNowhere: () => [],
    ...{ replica, client, leadershipState: { leads: () => true, leaderConsoleUrl: () => undefined }, clock, ...change },
  } as unknown as ConsoleOptions;
  const bound = await openConsole('127.0.0.1:0', options, life);
  return { news, port: bound?.port, ask: (path: string, body?: object) => ask(bound?.port, path, body) };
}

test('the list of nodes names the objects that are not in force', async () => {
  const refused = [{ kind: 'NodeHold', name: 'ci', reason: 'UnknownField', message: 'm' }];
  const { ask } = await opened({ refusedObjects: () => refused });
  expect((await ask('/v1/nodes')).document).toMatchObject({ refused });
});

test('every document says which replica it is of, and has nodes by name', async () => {
  const { ask, news } = await opened();
  const replica = { name: 'r' };
  const nodes = [{ name: 'a' }, { name: 'b' }];
  expect((await ask('/v1/nodes')).document).toEqual({ replica, eventId: news.follow(), nodes });
  expect((await ask('/v1/nodes/a')).document).toMatchObject({
    ...{ replica, name: 'a', uid: 'uid-a' },
    services: [{ name: 'ws-daemon' }],
  });
  expect((await ask('/v1/nodes/gone')).status).toBe(404);
  expect((await ask('/v1/plan')).document).toMatchObject({ replica, nodes: expect.any(Array) });
  expect((await ask('/v1/services')).document).toMatchObject({ replica, services: [{ name: 'ws-daemon' }] });
  expect((await ask('/v1/audit')).document).toEqual({ replica, since: 'then', entries: [{ node: 'a' }] });
  const pod = { name: 'p' };
  expect((await ask('/v1/schedule?pod=apps/p')).document).toEqual({ replica, pod, limits: {}, nodes });
  const diff = { looked: 2, problems: [], notes: [], nodes: [] };
  expect((await ask('/v1/diff', { objects: [], rules: {} })).document).toEqual({ replica, ...diff });
});

test('rules are shown where there are any, with what they do to the nodes', async () => {
  expect((await (await opened()).ask('/v1/rules')).document).toEqual({ labels: [], problems: [], rules: [] });
  const rules = {
    ruleSet: { rules: [{ label: 'a', file: 'f', conditions: [] }] },
    problems: () => [{ file: 'g', problem: 'cannot be read' }],
    ignored: () => [],
  };
  const { ask } = await opened({ rules });
  expect((await ask('/v1/rules')).document).toMatchObject({
    labels: ['a'],
    problems: [{ file: 'g' }],
    rules: [{ label: 'a', nodes: { given: 0, held: 0, withheld: 0 } }],
  });
});

test('a replica that does not lead names no event to go on from, and asks the leader where it knows one', async () => {
  const leadershipState = { leads: () => false, leaderConsoleUrl: (): string | undefined => undefined };
  const alone = await opened({ leadershipState });
  expect((await alone.ask('/v1/nodes')).document).not.toHaveProperty('eventId');
  const server = createServer((_request, response) => response.end('{"by":"leader"}'));
  const leader = await listen(server, { host: '127.0.0.1', port: 0 });
  life.onStop('leader', () => closeServer(server, 0));
  const leaderConsoleUrl = () => `http://127.0.0.1:${leader.port}`;
  expect(
    (await (await opened({ leadershipState: { ...leadershipState, leaderConsoleUrl } })).ask('/v1/nodes')).document,
  ).toEqual({
    by: 'leader',
  });
  const leading = await opened({ leadershipState: { leads: () => true, leaderConsoleUrl } });
  expect((await leading.ask('/v1/nodes')).document).toHaveProperty('eventId');
});

test('the stream contains the news', async () => {
  const { news, port } = await opened();
  const outgoing = request({ host: '127.0.0.1', port, path: '/v1/stream', agent: false }).end();
  const text = await new Promise<string>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => response.once('data', (chunk) => resolve(String(chunk))));
  });
  expect(text).toContain('event: replica');
  expect(news.readers).toBe(1);
  outgoing.destroy();
  await expect.poll(() => news.readers).toBe(0);
});

test('a console that is switched off is none, and one that is open is closed with the program', async () => {
  expect(await openConsole('off', {} as ConsoleOptions, life)).toBeUndefined();
  const { ask } = await opened();
  await ask('/v1/services');
  await life.stop();
  await expect(ask('/v1/services')).rejects.toThrow('ECONNREFUSED');
});
