import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DiffRequest } from '@rollcall/common/console.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { ask } from './console.test-fixtures.ts';
import { type ConsoleSource, createConsoleServer } from './console-server.ts';
import type { Reader } from './event-stream.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const list = (list: string) => ({ head: { of: list }, list, items: [1, 2] });

/** A console on loopback that was told to listen on `host`; returns how to ask it, and what its source was asked. */
async function served(change: Partial<ConsoleSource> = {}, host = '127.0.0.1') {
  const asked: unknown[] = [];
  const source: ConsoleSource = {
    nodes: () => list('nodes'),
    node: (name) => (name === 'n' ? { name } : undefined),
    plan: () => list('plan'),
    services: () => ({ services: [] }),
    audit: () => list('entries'),
    rules: async (label) => (label === 'odd' ? undefined : { rules: label ?? 'all' }),
    ruleOnNode: (label, node) => (node === 'n' ? { label, node } : undefined),
    schedule: async ({ namespace, name }) => (name === 'p' ? list(namespace) : undefined),
    diff: async (request) => {
      asked.push(request);
      return list('diff');
    },
    readers: () => 0,
    stream: ({ to, after }) => {
      asked.push(after);
      to.end('event: a\n\n');
    },
    page: () => ({ body: Buffer.from('<html>'), headers: { 'content-type': 'text/html' } }),
    leaderUrl: () => undefined,
    ...change,
  };
  const clock = new FakeClock();
  const server = createConsoleServer(source, host, clock);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { port, asked, clock, ask: (path: string, options?: Parameters<typeof ask>[2]) => ask(port, path, options) };
}

const PROPOSED: DiffRequest = { objects: [{ kind: 'NodeService' }], rules: { a: 'b' } } as never;

describe('a question', () => {
  test.each([
    ['/v1/nodes', { of: 'nodes', nodes: [1, 2] }],
    ['/v1/nodes/n', { name: 'n' }],
    ['/v1/nodes/%6E', { name: 'n' }],
    ['/v1/services', { services: [] }],
    ['/v1/plan', { of: 'plan', plan: [1, 2] }],
    ['/v1/audit', { of: 'entries', entries: [1, 2] }],
    ['/v1/rules', { rules: 'all' }],
    ['/v1/rules?label=a', { rules: 'a' }],
    ['/v1/schedule?pod=apps/p', { of: 'apps', apps: [1, 2] }],
  ])('of %s is answered as JSON that no cache keeps', async (path, document) => {
    const { ask } = await served();
    const { status, headers, text } = await ask(path);
    expect([status, JSON.parse(text)]).toEqual([200, document]);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  test.each([
    ['/v1/nodes/other', 404, 'There is no node other'],
    ['/v1/nodes/%', 404, 'There is no node %'],
    ['/v1/rules?label=odd', 404, 'No rule sets the label odd'],
    ['/v1/schedule?pod=apps/gone', 404, 'There is no pod apps/gone'],
    ['/v1/schedule?pod=p', 400, 'Name the pod: ?pod=NAMESPACE/NAME'],
    ['/v1/schedule', 400, 'Name the pod: ?pod=NAMESPACE/NAME'],
    ['/v1/other', 404, 'Try /v1/nodes, /v1/nodes/NAME'],
    ['/v1/nodes/n/more', 404, 'Try /v1/nodes, /v1/nodes/NAME'],
    ['//', 404, 'Try /v1/nodes, /v1/nodes/NAME'],
  ])('of %s is answered with %d, and why', async (path, status, detail) => {
    const { ask } = await served();
    const answer = await ask(path);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/problem+json']);
    expect(JSON.parse(answer.text)).toMatchObject({ status, detail: expect.stringContaining(detail) });
  });

  test('by HEAD gets the head of the answer alone', async () => {
    const { ask, asked } = await served();
    for (const path of ['/', '/v1/nodes', '/v1/stream']) {
      const { status, text } = await ask(path, { method: 'HEAD' });
      expect([path, status, text]).toEqual([path, 200, '']);
    }
    expect(asked).toEqual([]);
  });

  test.each([
    ['/v1/nodes', 'POST', 'GET, HEAD'],
    ['/', 'DELETE', 'GET, HEAD'],
    ['/v1/diff', 'GET', 'POST'],
    ['/v1/diff', 'HEAD', 'POST'],
  ])('of %s by %s is refused, with what is allowed', async (path, method, allow) => {
    const { ask } = await served();
    const { status, headers } = await ask(path, { method });
    expect([status, headers.allow]).toEqual([405, allow]);
  });

  test('that cannot be answered gets the reason, and no half document', async () => {
    const broken = await served({ schedule: () => Promise.reject(new Error('No answer')) });
    const { status, text } = await broken.ask('/v1/schedule?pod=a/p');
    expect([status, JSON.parse(text).detail]).toEqual([502, 'No answer']);
    const items = (function* () {
      yield 'x'.repeat(100_000);
      throw new Error('on purpose');
    })();
    const half = await served({ nodes: () => ({ head: {}, list: 'nodes', items }) });
    await expect(half.ask('/v1/nodes')).rejects.toThrow();
  });
});

describe('a console on loopback', () => {
  test.each(['rebound.test', 'rebound.test:8080', '10.0.0.1'])(
    'answers nothing to a request for the host %j, which a page of another origin may have sent',
    async (host) => {
      const { ask, asked } = await served();
      for (const path of ['/', '/v1/nodes', '/v1/stream']) {
        expect((await ask(path, { headers: { host } })).status).toBe(403);
      }
      const type = { 'content-type': 'application/json' };
      const body = JSON.stringify(PROPOSED);
      expect((await ask('/v1/diff', { method: 'POST', headers: { host, ...type }, body })).status).toBe(403);
      expect(asked).toEqual([]);
    },
  );

  test.each(['localhost:8080', '127.0.0.1', '[::1]:8080'])('answers to the host %s', async (host) => {
    const { ask } = await served();
    expect((await ask('/v1/nodes', { headers: { host } })).status).toBe(200);
  });

  test('that is for other machines answers to any host', async () => {
    const { ask } = await served({}, '0.0.0.0');
    expect((await ask('/v1/nodes', { headers: { host: 'console.test' } })).status).toBe(200);
  });
});

describe('a proposed change', () => {
  const post = (body: string, type = 'application/json') => ({
    ...{ method: 'POST', body },
    headers: { 'content-type': type },
  });

  test('is handed on as it is, and answered', async () => {
    const { ask, asked } = await served();
    const { status, text } = await ask('/v1/diff', post(JSON.stringify(PROPOSED), 'application/json; charset=utf-8'));
    expect([status, JSON.parse(text)]).toEqual([200, { of: 'diff', diff: [1, 2] }]);
    expect(asked).toEqual([PROPOSED]);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])(
    'of the type %s is refused',
    async (type) => {
      const { ask, asked } = await served();
      const { status, text } = await ask('/v1/diff', post(JSON.stringify(PROPOSED), type));
      expect([status, JSON.parse(text)]).toMatchObject([
        415,
        { status: 415, detail: 'A proposed change must be application/json in UTF-8' },
      ]);
      expect(asked).toEqual([]);
    },
  );

  test.each([
    ['{', 'it is not JSON'],
    ['{"objects": [], "rules": 7}', 'rules'],
    [JSON.stringify({ objects: Array(1001).fill({ kind: 'x' }), rules: {} }), 'objects'],
  ])('that is not valid is refused with the reason', async (body, reason) => {
    const { ask } = await served();
    const { status, text } = await ask('/v1/diff', post(body));
    expect(status).toBe(400);
    expect(JSON.parse(text).detail).toMatch(new RegExp(`^The proposed change is not valid: .*${reason}`, 's'));
  });

  test('of a megabyte is taken, and of more is refused', async () => {
    const { ask } = await served();
    const body = JSON.stringify(PROPOSED).padEnd(1024 * 1024, ' ');
    expect((await ask('/v1/diff', post(body))).status).toBe(200);
    const { status, text } = await ask('/v1/diff', post(`${body} `));
    expect([status, JSON.parse(text).detail]).toEqual([413, 'A proposed change must have at most 1048576 bytes']);
  });
});

describe('the stream', () => {
  test('goes on after the event that the reader names, by a header before the address', async () => {
    const { ask, asked } = await served();
    const { status, headers, text } = await ask('/v1/stream');
    expect([status, text]).toEqual([200, 'event: a\n\n']);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    await ask('/v1/stream?after=a.1');
    await ask('/v1/stream?after=a.1', { headers: { 'last-event-id': 'a.2' } });
    expect(asked).toEqual([undefined, 'a.1', 'a.2']);
  });

  test('has 128 readers at most', async () => {
    let readers = 127;
    const opened: Reader[] = [];
    const stream = (reader: Reader) => {
      opened.push(reader);
      reader.to.end();
    };
    const { ask } = await served({ readers: () => readers, stream });
    expect((await ask('/v1/stream')).status).toBe(200);
    readers = 128;
    const { status, text } = await ask('/v1/stream');
    expect([status, JSON.parse(text).detail]).toEqual([503, 'Too many clients read the stream already']);
    expect(opened).toHaveLength(1);
  });
});

describe('the page', () => {
  test('is served with its headers', async () => {
    const { ask } = await served();
    const { status, headers, text } = await ask('/');
    expect([status, headers['content-type'], text]).toEqual([200, 'text/html', '<html>']);
  });

  test('that was not built says how to get it', async () => {
    const { ask } = await served({ page: () => undefined });
    const { status, text } = await ask('/');
    expect([status, JSON.parse(text).detail]).toEqual([
      404,
      'The page was not built (npm run build); /v1/nodes is available',
    ]);
  });
});

describe('a replica that does not lead', () => {
  test('passes a question on to the leader, and answers itself what was passed on to it', async () => {
    const leader = await served({ node: (name) => ({ name, by: 'leader' }) });
    const standby = await served({ leaderUrl: () => `http://127.0.0.1:${leader.port}` });
    expect(JSON.parse((await standby.ask('/v1/nodes/n')).text)).toEqual({ name: 'n', by: 'leader' });
    const headers = { 'x-rollcall-forwarded': '1' };
    expect(JSON.parse((await standby.ask('/v1/nodes/n', { headers })).text)).toEqual({ name: 'n' });
    expect((await standby.ask('/')).text).toBe('<html>');
  });

  test('answers by itself where the leader does not, but for a proposed change', async () => {
    const standby = await served({ leaderUrl: () => 'http://127.0.0.1:1' });
    expect(JSON.parse((await standby.ask('/v1/nodes/n')).text)).toEqual({ name: 'n' });
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await standby.ask('/v1/diff', { method: 'POST', headers, body: '{}' });
    expect([status, JSON.parse(text).detail]).toEqual([502, 'The leader does not answer']);
  });
});
