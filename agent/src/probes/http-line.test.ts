import { Agent, createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { httpLine } from './http-line.ts';
import { askOnce } from './testing/ask-once.ts';
import { SERVER_CHAIN, SERVER_KEY } from './testing/certificates.ts';
import { startChildService } from './testing/child-service.ts';
import { eventually, within } from './testing/limits.ts';
import { closedTarget, createRawServer, listenOnLoopback, type RunningServer } from './testing/servers.ts';

const CHECK = { kind: 'http', path: '/healthz' };
const probe = askOnce(CHECK);

async function serve(listener: RequestListener): Promise<RunningServer> {
  const server = await listenOnLoopback(createServer(listener));
  onTestFinished(server.close);
  return server;
}

function answer(status: number): RequestListener {
  return (_request, response) => void response.writeHead(status).end();
}

describe('a probe by http', () => {
  it('asks for the path over a connection of its own, and is healthy on the expected status', async () => {
    const asked: unknown[] = [];
    const server = await serve((request, response) => {
      asked.push([request.method, request.url, request.headers.host, request.headers['user-agent']]);
      response.writeHead(200).end();
    });
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'healthy',
      evidence: `http 127.0.0.1:${server.port} answered 200 as expected`,
    });
    expect(asked).toEqual([['GET', '/healthz', `127.0.0.1:${server.port}`, 'rollcall-agent']]);
    await eventually(() => expect([server.accepted(), server.connections.size]).toEqual([1, 0]));
  });

  it('sends a User-Agent, unless a header sets another', async () => {
    const asked: unknown[] = [];
    const server = await serve((request, response) => {
      asked.push(request.headers['user-agent']);
      response.writeHead(200).end();
    });
    await askOnce({ ...CHECK, headers: { 'User-Agent': 'mine/1' } })(server, within(5000));
    expect(asked).toEqual(['mine/1']);
  });

  it('expects another status where told so', async () => {
    const server = await serve(answer(204));
    const other = askOnce({ ...CHECK, expectedStatuses: ['204'] });
    expect(await other(server, within(5000))).toMatchObject({ verdict: 'healthy' });
  });

  it.each([204, 301, 404, 500, 503])('is soft on %i', async (status) => {
    const server = await serve(answer(status));
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'soft',
      evidence: `http 127.0.0.1:${server.port} answered ${status}, 200 was expected`,
    });
  });

  it('does not follow redirects, not even to a place that answers as expected', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/elsewhere') response.writeHead(200).end();
      else response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await probe(server, within(5000))).toMatchObject({ verdict: 'soft' });
    expect(server.accepted()).toBe(1);
  });

  it('has proof when no process listens', async () => {
    const target = await closedTarget();
    expect(await probe(target, within(5000))).toMatchObject({
      verdict: 'hard',
      evidence: `http 127.0.0.1:${target.port} refused the connection twice (ECONNREFUSED)`,
    });
  });

  it('has proof when the connection is reset twice instead of an answer', async () => {
    const server = await listenOnLoopback(
      createRawServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
    );
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({ verdict: 'hard' });
    expect(server.accepted()).toBe(2);
  });

  it.each<[string, string]>([
    ['hangs up instead of answering', ''],
    ['speaks something else', 'SSH-2.0-x\r\n'],
  ])('is soft when the server %s', async (_what, said) => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.once('data', () => socket.end(said))));
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({ verdict: 'soft' });
  });

  it('bounds the whole of it by the time limit', async () => {
    const server = await serve(() => {});
    expect(await probe(server, within(200))).toMatchObject({
      verdict: 'soft',
      evidence: `http 127.0.0.1:${server.port} did not answer within 200 ms`,
    });
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('sees a process that hangs', async () => {
    const service = await startChildService('http');
    onTestFinished(service.end);
    const expects404 = askOnce({ ...CHECK, expectedStatuses: ['404'] });
    expect(await expects404(service, within(5000))).toMatchObject({ verdict: 'healthy' });
    service.signal('SIGSTOP');
    expect(await expects404(service, within(200))).toMatchObject({ verdict: 'soft' });
  });
});

describe('a probe by https', () => {
  it('asks the same over TLS', async () => {
    const asked: unknown[] = [];
    const https = createHttpsServer({ key: SERVER_KEY, cert: SERVER_CHAIN }, (request, response) => {
      asked.push([request.method, request.url]);
      response.writeHead(200).end();
    });
    const server = await listenOnLoopback(https);
    onTestFinished(server.close);
    expect(await askOnce({ ...CHECK, kind: 'https' })(server, within(5000))).toMatchObject({
      verdict: 'healthy',
      evidence: `https 127.0.0.1:${server.port} answered 200 as expected`,
    });
    expect(asked).toEqual([['GET', '/healthz']]);
  });
});

describe('a line by http', () => {
  it('goes on when a connection is closed in the moment of its answer', async () => {
    const server = await serve(answer(200));
    // An agent that takes no connection back closes it before the answer is judged.
    class Forgetful extends Agent {
      override keepSocketAlive() {
        return false;
      }
    }
    const agent = new Forgetful({ keepAlive: true });
    const check = { path: '/', headers: {}, expectedStatuses: ['200'] };
    const line = httpLine('http', check, agent, systemClock)(() => {});
    onTestFinished(() => line.release());
    for (let round = 0; round < 50; round += 1) {
      expect(await line.ask(server, within(5000), round % 2 === 0)).toMatchObject({ verdict: 'healthy' });
      line.hold(server);
    }
  });

  const HEALTHY = 'healthy: answered 200 as expected';

  async function watched(listener: RequestListener) {
    const server = await serve(listener);
    const kept = new Agent({ keepAlive: true });
    let lost = 0;
    const check = { path: '/', headers: {}, expectedStatuses: ['200'] };
    const line = httpLine(
      'http',
      check,
      kept,
      systemClock,
    )(() => {
      lost += 1;
    });
    onTestFinished(() => line.release());
    const ask = async (fresh = false, limitMs = 5000) => {
      const { verdict, evidence } = await line.ask(server, within(limitMs), fresh);
      return `${verdict}: ${evidence.split(' ').slice(2).join(' ')}`;
    };
    return { server, line, ask, lost: () => lost };
  }

  it('is asked over the connection that is kept, until another one has to be made', async () => {
    const { server, line, ask } = await watched(answer(200));
    expect(await ask(true)).toBe(HEALTHY);
    await eventually(async () => {
      const before = server.accepted();
      expect(await ask()).toBe(HEALTHY);
      expect(server.accepted()).toBe(before);
    });
    const before = server.accepted();
    expect(await ask(true)).toBe(HEALTHY);
    expect(server.accepted()).toBe(before + 1);
    line.release();
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('asks over a new connection where the kept one is closed instead of an answer', async () => {
    let asked = 0;
    const { server, ask } = await watched((request, response) => {
      asked += 1;
      if (request.socket === first) request.socket.destroy();
      else response.writeHead(200).end();
      if (asked === 1) first = request.socket;
    });
    let first: unknown;
    expect(await ask(true)).toBe(HEALTHY);
    expect(await ask()).toBe(HEALTHY);
    await eventually(() => expect(server.accepted()).toBe(2));
  });

  it('is not asked over a connection whose last answer has not ended', async () => {
    const { server, ask } = await watched((_request, response) => void response.writeHead(200).write('{'));
    expect(await ask()).toBe(HEALTHY);
    expect(await ask()).toBe(HEALTHY);
    expect(server.accepted()).toBe(2);
    await eventually(() => expect(server.connections.size).toBe(1));
  });

  it('gives up when its time is over while it asks over the kept connection, and opens no other', async () => {
    let asked = 0;
    const { server, ask } = await watched((_request, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(200).end();
    });
    expect(await ask()).toBe(HEALTHY);
    expect(await ask(false, 100)).toBe('soft: did not answer within 100 ms');
    await eventually(() => expect(server.connections.size).toBe(0));
    expect(asked).toBe(2);
  });

  it('tells when the server closes the connection that is kept', async () => {
    const { server, ask, lost } = await watched(answer(200));
    expect(await ask()).toBe(HEALTHY);
    for (const socket of server.connections) socket.destroy();
    await eventually(() => expect(lost()).toBe(1));
  });
});
