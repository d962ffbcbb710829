import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import type { CodedError } from '@rollcall/common/coded-error.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, describe, expect, it } from 'vitest';
import type { ApiAccess } from './api-access.ts';
import { isSilence, type KubeClient, type KubeRequest, KubeStatusError } from './client.ts';
import { createKubeClient } from './https-client.ts';
import { openApiAccess } from './open-api-access.ts';

/** What goes over the wire, against a plain HTTP server; what an API server means by it is tested against a real one. */

const open: { server: Server; client: KubeClient }[] = [];
afterEach(() => {
  for (const { server, client } of open.splice(0)) {
    client.close();
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener, access: Partial<ApiAccess> = {}, clock: Clock = systemClock) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const answers: string[] = [];
  const master = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix`;
  const warnings: string[] = [];
  const client = createKubeClient(
    { ...(await openApiAccess({ kubeconfig: '', master, env: {} })), ...access },
    {
      userAgent: 'rollcall-coordinator/0',
      maxSockets: 1,
      clock,
      onAnswer: (verb, code) => answers.push(`${verb} ${code}`),
      onWarning: (text) => warnings.push(text),
    },
  );
  open.push({ server, client });
  return { server, client, answers, warnings };
}

const get: KubeRequest = { method: 'GET', path: '/api', timeoutMs: 2000 };
const watch = { method: 'GET' as const, path: '/api', idleTimeoutMs: 2000 };

async function failure(promise: Promise<unknown>): Promise<CodedError> {
  return promise.then(
    () => Promise.reject(new Error('it succeeded')),
    (err: CodedError) => err,
  );
}

function answer(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await request.toArray()).toString();
}

describe('requests', () => {
  it('sends what it is told, over one connection', async () => {
    const seen: unknown[] = [];
    const { client, server, answers } = await serve(async (request, response) => {
      const { method, url, headers } = request;
      seen.push([method, url, headers['user-agent'], headers.accept, headers['content-type'], await textOf(request)]);
      answer(response, { kind: 'Thing' });
    });
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    expect(await client.request({ ...get, query: { limit: '5', fieldSelector: 'a=b,c' } })).toEqual({ kind: 'Thing' });
    await client.request({
      method: 'PATCH',
      path: '/api/x',
      body: { a: 'ü' },
      contentType: 'application/apply-patch+yaml',
      accept: 'application/json;as=Table',
      timeoutMs: 2000,
    });
    expect(seen).toEqual([
      [
        'GET',
        '/prefix/api?limit=5&fieldSelector=a%3Db%2Cc',
        'rollcall-coordinator/0',
        'application/json',
        undefined,
        '',
      ],
      [
        'PATCH',
        '/prefix/api/x?timeout=2000ms',
        'rollcall-coordinator/0',
        'application/json;as=Table',
        'application/apply-patch+yaml',
        '{"a":"ü"}',
      ],
    ]);
    expect(connections).toBe(1);
    expect(answers).toEqual(['list 200', 'apply 200']);
  });

  it('tells the API server how long a write may take', async () => {
    const seen: unknown[] = [];
    const { client } = await serve(({ url }, response) => answer(response, { seen: seen.push(url) }));
    const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const;
    for (const method of methods) await client.request({ method, path: `/${method}`, timeoutMs: 1500 });
    expect(seen).toEqual(methods.map((name) => `/prefix/${name}${name === 'GET' ? '' : '?timeout=1500ms'}`));
  });

  it('sends the body of a DELETE with its length, by which a server knows that there is one', async () => {
    const seen: unknown[] = [];
    const { client } = await serve(async (request, response) => {
      seen.push([request.headers['content-length'], await textOf(request)]);
      answer(response, {});
    });
    await client.request({ method: 'DELETE', path: '/api/x', body: { a: 'ü' }, timeoutMs: 2000 });
    expect(seen).toEqual([['10', '{"a":"ü"}']]);
  });

  it.each([
    ['a Status', 409, { kind: 'Status', message: 'taken', reason: 'Conflict' }, 'taken', 'Conflict'],
    ['plain text', 404, '404 page not found\n', '404 page not found', undefined],
    ['nothing', 503, '', 'The API server answered 503', undefined],
  ])('turns an error with %s into a KubeStatusError', async (_what, status, body, message, reason) => {
    const { client, answers } = await serve((_request, response) => answer(response, body, status));
    const error = (await failure(client.request(get))) as KubeStatusError;
    expect(error).toBeInstanceOf(KubeStatusError);
    expect(error).toMatchObject({ code: 'KUBE_REQUEST_FAILED', status, message });
    expect(error.fields).toEqual({ method: 'GET', path: '/api', status, reason });
    expect(answers).toEqual([`get ${status}`]);
  });

  it.each([
    ['the header', { details: { retryAfterSeconds: 9 } }, { 'retry-after': '2' }, 2000],
    ['the body', { details: { retryAfterSeconds: 9 } }, {}, 9000],
    ['nowhere', {}, {}, undefined],
    ['a date, which is not read', {}, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, undefined],
  ])('takes the time to wait from %s', async (_where, body, headers, retryAfterMs) => {
    const { client } = await serve((_request, response) =>
      answer(response, body, 429, headers as Record<string, string>),
    );
    expect(await failure(client.request(get))).toMatchObject({ status: 429, retryAfterMs });
  });

  it.each<[string, RequestListener]>([
    ['the server does not answer', () => {}],
    ['the answer stops in the middle', (_request, response) => response.writeHead(200).write('{"a":')],
  ])('gives up after the time allowed when %s', async (_case, listener) => {
    const { client, answers } = await serve(listener);
    const startedAt = performance.now();
    const error = await failure(client.request({ ...get, timeoutMs: 150 }));
    expect(error).toMatchObject({ code: 'KUBE_UNREACHABLE', message: 'The API server did not answer in time' });
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(answers).toEqual(['get error']);
  });

  it.each<[string, RequestListener]>([
    ['refused by a reset', (request) => request.socket.resetAndDestroy()],
    [
      'cut off',
      (request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"a":1');
        setTimeout(() => request.socket.destroy(), 10);
      },
    ],
    ['not JSON', (_request, response) => answer(response, '<html>')],
  ])('says that the API server is unreachable when the answer is %s', async (_case, listener) => {
    const { client, answers } = await serve(listener);
    const error = await failure(client.request(get));
    expect(error).toMatchObject({ code: 'KUBE_UNREACHABLE', fields: { method: 'GET', path: '/api' } });
    expect(error.cause).toBeInstanceOf(Error);
    expect(answers).toEqual(['get error']);
  });

  it('gets its credentials anew when they are not accepted, and asks again, though not again and again', async () => {
    const seen: unknown[] = [];
    let generation = 0;
    const access = {
      options: async () => ({ headers: { Authorization: `Bearer ${generation}` } }),
      renew: () => {
        generation += 1;
      },
    };
    const { client, answers } = await serve((request, response) => {
      seen.push(request.headers.authorization);
      const accepted = request.headers.authorization === 'Bearer 1' && request.url !== '/prefix/never';
      answer(response, {}, accepted ? 200 : 401);
    }, access);
    await client.request({ method: 'POST', path: '/api', body: {}, timeoutMs: 2000 });
    expect(seen).toEqual(['Bearer 0', 'Bearer 1']);
    for (let index = 0; index < 3; index += 1) {
      await expect(client.request({ ...get, path: '/never' })).rejects.toMatchObject({ status: 401 });
    }
    expect(generation).toBe(1);
    expect(answers).toEqual(['create 200', 'get 401', 'get 401', 'get 401']);
  });

  it.each(['Bearer token\n', undefined])('sends what proves who asks without its end of line: %j', async (given) => {
    const seen: unknown[] = [];
    const options = async () => ({ headers: given === undefined ? {} : { Authorization: given } });
    const { client } = await serve(
      (request, response) => {
        seen.push(request.headers.authorization);
        answer(response, {});
      },
      { options } as Partial<ApiAccess>,
    );
    await client.request(get);
    expect(seen).toEqual([given?.trim()]);
  });

  it('reports each warning of the API server once', async () => {
    const { client, warnings } = await serve((_request, response) => {
      answer(response, {}, 200, {
        warning: ['299 - "v1beta1 is \\"old\\", and gone in v1.40"', '299 - "a, b", 299 - "c"'].join(', '),
      });
    });
    await client.request(get);
    await client.request(get);
    expect(warnings).toEqual(['v1beta1 is "old", and gone in v1.40', 'a, b', 'c']);
  });

  it('reports a hundred different warnings at most', async () => {
    const { client, warnings } = await serve((request, response) => {
      answer(response, {}, 200, { warning: `299 - "${request.url}"` });
    });
    for (let count = 0; count < 101; count += 1) await client.request({ ...get, path: `/${count}` });
    expect(warnings).toHaveLength(100);
  });

  it('asks for no credentials for an answer that is no longer wanted', async () => {
    const { client } = await serve(() => {}, { options: () => new Promise(() => {}) });
    const signal = AbortSignal.abort(new Error('stopping'));
    expect(await failure(client.request({ ...get, signal }))).toMatchObject({ cause: { message: 'stopping' } });
  });

  it('ends at once when the caller no longer wants the answer', async () => {
    const { client } = await serve(() => {});
    const stop = new AbortController();
    const promise = failure(client.request({ ...get, timeoutMs: 60_000, signal: stop.signal }));
    stop.abort(new Error('stopping'));
    expect(await promise).toMatchObject({ code: 'KUBE_UNREACHABLE', cause: { message: 'stopping' } });
    expect(await failure(client.request({ ...get, signal: stop.signal }))).toMatchObject({ code: 'KUBE_UNREACHABLE' });
  });

  it('asks once more on a new connection when an idle one turns out closed, for a GET only', async () => {
    let requests = 0;
    const { client } = await serve((request, response) => {
      requests += 1;
      // Every second request finds its connection, which was idle until then, closed.
      if (requests % 2 === 0) request.socket.resetAndDestroy();
      else answer(response, { requests });
    });
    await client.request(get);
    expect(await client.request(get)).toEqual({ requests: 3 });
    expect(await failure(client.request({ ...get, method: 'PUT', body: {} }))).toMatchObject({
      code: 'KUBE_UNREACHABLE',
    });
    expect(requests).toBe(4);
  });
});

describe('streams', () => {
  it('hands over one object after another, and resolves when the server ends it', async () => {
    const { client, answers } = await serve((_request, response) => {
      response.writeHead(200).write('{"a":"grü');
      setTimeout(() => response.end('ße"}\n{"b":2}\n'), 20);
    });
    const seen: unknown[] = [];
    await client.stream({ ...watch, onOpen: () => seen.push('open') }, (object) => seen.push(object));
    expect(seen).toEqual(['open', { a: 'grüße' }, { b: 2 }]);
    expect(answers).toEqual(['watch 200']);
  });

  it('lets others go on between the objects that come at once, however long each takes', async () => {
    const { client } = await serve((_request, response) => {
      response.writeHead(200).end('{}\n'.repeat(20));
    });
    let turns = 0;
    const turn = setInterval(() => {
      turns += 1;
    });
    const turnsBefore: number[] = [];
    await client.stream(watch, () => {
      turnsBefore.push(turns);
      const untilMs = performance.now() + 10;
      while (performance.now() < untilMs);
    });
    clearInterval(turn);
    expect(new Set(turnsBefore).size).toBeGreaterThan(10);
  });

  it('does not take the place of requests', async () => {
    const { client } = await serve((request, response) => {
      if (request.url?.includes('watch')) response.writeHead(200).write('1\n');
      else answer(response, {});
    });
    const stop = new AbortController();
    const streams: Promise<void>[] = [];
    for (let count = 0; count < 3; count += 1) {
      await new Promise<void>((opened) => {
        streams.push(client.stream({ ...watch, query: { watch: 'true' }, signal: stop.signal }, () => opened()));
      });
    }
    expect(await client.request(get)).toEqual({});
    stop.abort();
    await Promise.all(streams);
  });

  it('gives up after a silence, and says that it was one', async () => {
    const { client } = await serve((_request, response) => {
      response.writeHead(200).write('{}\n');
    });
    const error = await failure(client.stream({ ...watch, idleTimeoutMs: 80 }, () => {}));
    expect(isSilence(error)).toBe(true);
  });

  it('does not take an answer that never begins for a silence', async () => {
    const { client } = await serve(() => {});
    const error = await failure(client.stream({ ...watch, idleTimeoutMs: 80 }, () => {}));
    expect(error).toMatchObject({ code: 'KUBE_UNREACHABLE' });
    expect(isSilence(error)).toBe(false);
  });

  it.each([
    [150_000, 30_000],
    [20_000, 20_000],
  ])('with a silence of %i ms allowed waits %i ms for its answer to begin', async (idleTimeoutMs, waitMs) => {
    const clock = new FakeClock();
    const { client, server } = await serve(() => {}, {}, clock);
    const asked = once(server, 'request');
    const failed = failure(client.stream({ ...watch, idleTimeoutMs }, () => {}));
    await asked;
    await clock.advance(waitMs - 1);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1);
    expect(await failed).toMatchObject({ message: 'The API server did not answer in time' });
  });

  it('that is open and has told nothing yet may be silent for as long as any other', async () => {
    const clock = new FakeClock();
    const { client } = await serve((_request, response) => response.writeHead(200).flushHeaders(), {}, clock);
    const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>();
    const failed = failure(client.stream({ ...watch, idleTimeoutMs: 150_000, onOpen }, () => {}));
    await opened;
    await clock.advance(149_999);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1);
    expect(isSilence(await failed)).toBe(true);
  });

  it('tells a refusal, a cut and garbage apart', async () => {
    const { client, answers } = await serve((request, response) => {
      if (request.url?.endsWith('refused')) return answer(response, { reason: 'Expired' }, 410);
      if (request.url?.endsWith('half')) return void response.writeHead(200).end('{"a":');
      response.writeHead(200).write(request.url?.endsWith('garbage') ? 'garbage\n' : '{"a":');
      setTimeout(() => request.socket.resetAndDestroy(), 20);
    });
    expect(await failure(client.stream({ ...watch, path: '/refused' }, () => {}))).toMatchObject({ status: 410 });
    expect(await failure(client.stream({ ...watch, path: '/cut' }, () => {}))).toMatchObject({
      code: 'KUBE_UNREACHABLE',
      cause: { code: 'ECONNRESET' },
    });
    for (const path of ['/garbage', '/half']) {
      expect(await failure(client.stream({ ...watch, path }, () => {}))).toMatchObject({ code: 'KUBE_WATCH_BROKEN' });
    }
    expect(answers).toEqual(['watch 410', 'watch 200', 'watch 200', 'watch 200']);
  });

  it('takes events of up to 8 MiB, and ends at a larger one', async () => {
    const { client } = await serve((request, response) => {
      const mebibytes = request.url?.endsWith('large') ? 9 : 7;
      response.writeHead(200).end(`"${'x'.repeat(mebibytes * 1024 * 1024)}"\n`);
    });
    let received = 0;
    const receive = () => {
      received += 1;
    };
    await client.stream({ ...watch, path: '/small' }, receive);
    expect(await failure(client.stream({ ...watch, path: '/large' }, receive))).toMatchObject({
      code: 'KUBE_WATCH_BROKEN',
    });
    expect(received).toBe(1);
  });

  it('resolves when it is told to end, and hands over nothing more', async () => {
    const { client } = await serve((_request, response) => {
      response.writeHead(200).write('1\n2\n3\n');
    });
    const stop = new AbortController();
    const seen: unknown[] = [];
    await client.stream({ ...watch, signal: stop.signal }, (object) => {
      seen.push(object);
      stop.abort();
    });
    expect(seen).toEqual([1]);
    await client.stream({ ...watch, signal: stop.signal }, (object) => seen.push(object));
    expect(seen).toEqual([1]);
  });

  it('throws what the receiver throws', async () => {
    const { client } = await serve((_request, response) => {
      response.writeHead(200).write('1\n');
    });
    const broken = new Error('broken');
    const receive = () => {
      throw broken;
    };
    await expect(client.stream(watch, receive)).rejects.toBe(broken);
  });
});
