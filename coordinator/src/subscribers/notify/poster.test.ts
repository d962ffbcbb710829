import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { createAuthority, issueLeaf } from '../../tls/certificate-authority.ts';
import { NO_METADATA, nodeChange } from './node-change.ts';
import { fastClock, type Handler, listenAt, metadata, ok } from './notify.test-fixtures.ts';
import { Poster, type PostOutcome } from './poster.ts';

const MESSAGE = nodeChange('n', NO_METADATA, metadata({ a: 'ü' }));
const NEVER = new AbortController().signal;
const stops: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

function posterTo(address: string, clock: Clock = systemClock): Poster {
  const poster = new Poster({ url: new URL(address), maxSockets: 4, clock });
  stops.push(() => poster.close());
  return poster;
}

async function served(answer: Handler, clock: Clock = systemClock) {
  const receiver = await listenAt(createServer(), answer);
  stops.push(() => receiver.close());
  const poster = posterTo(`http://127.0.0.1:${receiver.port}/hook?token=t`, clock);
  return { receiver, post: (signal = NEVER) => poster.post(MESSAGE ?? {}, signal) };
}

/** A server that does with a connection as told. */
async function tcp(onConnection: (socket: Socket) => void): Promise<number> {
  const server: Server = createTcpServer((socket) => {
    socket.on('error', () => {});
    stops.push(() => void socket.destroy());
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function why(outcome: PostOutcome): string | undefined {
  return outcome.taken === 'yes' ? undefined : outcome.error.message;
}

describe('a message', () => {
  test('is posted as JSON with its length, path and query included', async () => {
    const { receiver, post } = await served(ok);
    expect(await post()).toEqual({ taken: 'yes' });
    const [request] = receiver.requests;
    expect([request?.method, request?.url]).toEqual(['POST', '/hook?token=t']);
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(JSON.stringify(MESSAGE))),
    });
    expect(receiver.messages).toEqual([MESSAGE]);
  });

  test.each([
    { bytes: 1000, connections: 1 },
    { bytes: 64 * 1024, connections: 1 },
    { bytes: 64 * 1024 + 1, connections: 3 },
  ])('after answers of $bytes bytes goes over $connections of 3 connections', async ({ bytes, connections }) => {
    const { receiver, post } = await served((response) => response.end('x'.repeat(bytes)));
    for (let count = 0; count < 3; count += 1) expect(await post()).toEqual({ taken: 'yes' });
    expect(new Set(receiver.requests.map(({ socket }) => socket)).size).toBe(connections);
  });

  test('leaves no timer, and nothing at the signal, which lasts for a term', async () => {
    const clock = new FakeClock();
    const { post } = await served(ok, clock);
    const { signal } = new AbortController();
    for (let count = 0; count < 3; count += 1) await post(signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('goes again at once when the kept connection had been closed', async () => {
    let connections = 0;
    const port = await tcp((socket) => {
      connections += 1;
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (requests === 1) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
        else socket.resetAndDestroy();
      });
    });
    const poster = posterTo(`http://127.0.0.1:${port}`);
    expect(await poster.post({}, NEVER)).toEqual({ taken: 'yes' });
    expect(await poster.post({}, NEVER)).toEqual({ taken: 'yes' });
    expect(connections).toBe(2);
  });
});

describe('an answer', () => {
  test.each([200, 201, 202, 204, 299])('of %d is delivery', async (status) => {
    const { post } = await served((response) => response.writeHead(status).end());
    expect(await post()).toEqual({ taken: 'yes' });
  });

  test.each([
    [400, 'no'],
    [404, 'no'],
    [413, 'no'],
    [500, 'no'],
    [502, 'maybe'],
    [504, 'maybe'],
  ] as const)('of %d is failure, heard of: %s (M-6)', async (status, taken) => {
    const { post } = await served((response) => response.writeHead(status, { 'retry-after': '7' }).end('sorry'));
    const outcome = await post();
    expect(outcome).toMatchObject({ taken, retryAfterMs: 0 });
    expect(why(outcome)).toBe(`The receiver answered ${status}`);
  });

  test.each([429, 503])('of %d may say when to come again (M-6)', async (status) => {
    const { post } = await served((response) => response.writeHead(status, { 'retry-after': '7' }).end());
    expect(await post()).toMatchObject({ taken: 'no', retryAfterMs: 7000 });
  });

  test.each([301, 302, 303, 307, 308])('of %d is failure, and not followed', async (status) => {
    const elsewhere = await listenAt(createServer());
    stops.push(() => elsewhere.close());
    const location = `http://127.0.0.1:${elsewhere.port}/`;
    const { receiver, post } = await served((response) => response.writeHead(status, { location }).end());
    expect(why(await post())).toBe(`The receiver answered ${status}`);
    expect([receiver.messages.length, elsewhere.messages.length]).toEqual([1, 0]);
  });

  test('without end is cut off, and is delivery by its status', async () => {
    let written = 0;
    const { post } = await served((response) => {
      const chunk = Buffer.alloc(16_384);
      const more = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length;
        response.once('drain', more);
      };
      more();
    });
    expect(await post()).toEqual({ taken: 'yes' });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test('that breaks off in the middle is delivery by its status', async () => {
    const { post } = await served((response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('x', () => response.destroy());
    });
    expect(await post()).toEqual({ taken: 'yes' });
  });

  test('whose end never comes is delivery by its status, after 5 s', async () => {
    const { post } = await served((response) => response.writeHead(200).write('x'), fastClock(20));
    expect(await post()).toEqual({ taken: 'yes' });
  });

  test('that is no HTTP is failure', async () => {
    const port = await tcp((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
    const outcome = await posterTo(`http://127.0.0.1:${port}`).post({}, NEVER);
    expect(outcome.taken).toBe('maybe');
  });
});

describe('no answer is failure (M-6)', () => {
  test('where no process listens, which cannot have heard', async () => {
    const { port, close } = await listenAt(createServer());
    await close();
    const outcome = await posterTo(`http://127.0.0.1:${port}`).post({}, NEVER);
    expect(outcome).toMatchObject({ taken: 'no', error: { code: 'ECONNREFUSED' } });
  });

  test('where the name is unknown', async () => {
    const outcome = await posterTo('http://receiver.invalid').post({}, NEVER);
    expect(outcome.taken).toBe('no');
  });

  test('within 5 s, of one who may have heard', async () => {
    const { post } = await served(() => {}, fastClock(20));
    const startMs = performance.now();
    const outcome = await post();
    expect(outcome.taken).toBe('maybe');
    expect(why(outcome)).toBe('No answer within 5000 ms');
    expect(performance.now() - startMs).toBeLessThan(4000);
  });

  test('on a connection that was kept, of one who may have heard', async () => {
    let count = 0;
    const { receiver, post } = await served((response) => {
      count += 1;
      if (count === 1) ok(response);
    }, fastClock(20));
    expect(await post()).toEqual({ taken: 'yes' });
    expect(await post()).toMatchObject({ taken: 'maybe' });
    expect(new Set(receiver.requests.map(({ socket }) => socket)).size).toBe(1);
  });

  test('when the connection is closed, of one who may have heard', async () => {
    const { post } = await served((response) => response.socket?.resetAndDestroy());
    expect(await post()).toMatchObject({ taken: 'maybe' });
  });

  test('when the sender ends', async () => {
    const controller = new AbortController();
    const { post } = await served(() => controller.abort());
    const outcome = await post(controller.signal);
    expect([outcome.taken, why(outcome)]).toEqual(['maybe', 'The program is stopping']);
    expect(await post(AbortSignal.abort())).toMatchObject({ taken: 'no' });
  });
});

describe('over TLS', () => {
  async function servedOverTls(names: string[]) {
    const nowMs = systemClock.now();
    const authority = await createAuthority({ nowMs });
    const receiver = await listenAt(createTlsServer(await issueLeaf(authority, { names, nowMs })));
    stops.push(() => receiver.close());
    const trust = () => {
      const before = getCACertificates('default');
      stops.push(() => setDefaultCACertificates(before));
      setDefaultCACertificates([authority.cert]);
    };
    return { receiver, trust, url: `https://127.0.0.1:${receiver.port}/hook` };
  }

  test('a message goes to one whose certificate is trusted', async () => {
    const { receiver, trust, url } = await servedOverTls(['127.0.0.1']);
    trust();
    const poster = posterTo(url);
    for (let count = 0; count < 2; count += 1)
      expect(await poster.post(MESSAGE ?? {}, NEVER)).toEqual({ taken: 'yes' });
    expect(receiver.messages).toEqual([MESSAGE, MESSAGE]);
  });

  test('one who says nothing on a connection that was kept may have heard', async () => {
    const { receiver, trust, url } = await servedOverTls(['127.0.0.1']);
    trust();
    const poster = posterTo(url, fastClock(20));
    expect(await poster.post(MESSAGE ?? {}, NEVER)).toEqual({ taken: 'yes' });
    receiver.answer = () => {};
    expect(await poster.post(MESSAGE ?? {}, NEVER)).toMatchObject({ taken: 'maybe' });
    expect(new Set(receiver.requests.map(({ socket }) => socket)).size).toBe(1);
  });

  test('nothing is sent to a server whose certificate is not trusted, or is for another name', async () => {
    const unknown = await servedOverTls(['127.0.0.1']);
    expect(await posterTo(unknown.url).post({}, NEVER)).toMatchObject({ taken: 'no' });
    const other = await servedOverTls(['other.test']);
    other.trust();
    const outcome = await posterTo(other.url).post({}, NEVER);
    expect(outcome).toMatchObject({ taken: 'no', error: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } });
    expect([unknown.receiver.messages, other.receiver.messages]).toEqual([[], []]);
  });

  test('one who never shakes hands is given up after 5 s, and cannot have heard', async () => {
    const port = await tcp(() => {});
    const outcome = await posterTo(`https://127.0.0.1:${port}`, fastClock(20)).post({}, NEVER);
    expect(outcome.taken).toBe('no');
  });
});

test('a connection that is not used is closed after 4 s', async () => {
  const sockets: Socket[] = [];
  const port = await tcp((socket) => {
    sockets.push(socket);
    socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
  });
  expect(await posterTo(`http://127.0.0.1:${port}`).post({}, NEVER)).toEqual({ taken: 'yes' });
  const [socket] = sockets;
  expect(socket?.destroyed).toBe(false);
  await new Promise<void>((resolve) => socket?.once('close', () => resolve()));
}, 10_000);
