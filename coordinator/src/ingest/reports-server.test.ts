import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { REPORT_BODY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { describe, expect, it, vi } from 'vitest';
import { createAuthority, issueLeaf } from '../tls/certificate-authority.ts';
import { CertificateHolder } from '../tls/certificate-holder.ts';
import type { AgentIdentity } from './agent-identity.ts';
import { POD, reportsServer, sample, send, sendRaw, wire } from './reports-server.test-fixtures.ts';

const heartbeat = { node: 'n1', boot: 'b', sequence: 1, digest: 'd' };
const service = { name: 'ws-daemon', ready: true, since: '2026-01-01T00:00:00Z', evidence: 'connected', digest: 'c1' };
const full = { ...heartbeat, services: [service], devices: [], facts: {} };

function rawHead(extra: string, line = 'POST /v1/reports HTTP/1.1'): string {
  return `${line}\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n${extra}\r\n`;
}

describe('a body that is too large', () => {
  const tooMany = REPORT_BODY_BYTES_MAX + 1;

  it('is refused by its declared length, before any of it is sent', async () => {
    const { port } = await reportsServer();
    const answer = await sendRaw(port, rawHead(`Content-Length: ${tooMany}\r\n`));
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(answer).toMatch(/connection: close/i);
    expect(answer).toContain('"code":"REPORT_INVALID"');
  });

  it('is refused even when a client sends all of it first', async () => {
    const { port } = await reportsServer();
    expect(await send(port, 'x'.repeat(1_000_000))).toMatchObject({ status: 413 });
  });

  it('is refused in a way that reaches a client which reads only after it has sent everything', async () => {
    const { port } = await reportsServer();
    const socket = connect(port, '127.0.0.1').pause();
    const write = promisify<string, void>((text, done) => socket.write(text, done));
    await write(rawHead('Content-Length: 1000000\r\n'));
    for (let sent = 0; sent < 1_000_000; sent += 100_000) {
      // Gives the server its turns, which shares the event loop with this client.
      await setTimeout(1);
      await write('x'.repeat(100_000));
    }
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });

  it('is refused where its length is not declared', async () => {
    const { port } = await reportsServer();
    const answer = await send(port, 'x'.repeat(1_000_000), { headers: { 'transfer-encoding': 'chunked' } });
    expect(answer).toMatchObject({ status: 411, headers: { connection: 'close' } });
  });

  it('is taken at exactly the limit', async () => {
    const { port } = await reportsServer();
    const text = wire(heartbeat);
    const padded = text + ' '.repeat(REPORT_BODY_BYTES_MAX - text.length);
    expect(await send(port, padded)).toMatchObject({ status: 200 });
    expect(await send(port, `${padded} `)).toMatchObject({ status: 413 });
  });
});

describe('limits', () => {
  it('throttle a node that reports too often, and no other', async () => {
    const { port, surroundings } = await reportsServer();
    surroundings.nodes.set('n2', 'uid-2');
    surroundings.identities.set('other', { node: 'n2', pod: { name: 'agent-2', uid: 'pod-uid-2' } });
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(port, heartbeat)));
    const throttled = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(20);
    expect(throttled.length).toBeGreaterThan(0);
    expect(throttled[0]?.headers['retry-after']).toBe('1');
    expect(JSON.parse(throttled[0]?.body ?? '')).toMatchObject({ code: 'REPORT_THROTTLED' });
    const other = await send(port, { ...heartbeat, node: 'n2' }, { headers: { authorization: 'Bearer other' } });
    expect(other.status).toBe(200);
  });

  it('end a connection that never sends a request', async () => {
    const { port, registry } = await reportsServer({ requestTimeoutMs: 100 });
    expect(await sendRaw(port, '')).toMatch(/^HTTP\/1.1 408 /);
    expect(await sample(registry, 'rollcall_coordinator_reports_total{result="408"}')).toBe(1);
  });

  it('end a request whose head does not come to an end', async () => {
    const { port } = await reportsServer({ requestTimeoutMs: 100 });
    expect(await sendRaw(port, 'POST /v1/reports HTTP/1.1\r\nX-Slow: ')).toMatch(/^HTTP\/1.1 408 /);
  });

  it('end a request whose body does not come to an end', async () => {
    const { port } = await reportsServer({ requestTimeoutMs: 200 });
    const answer = await sendRaw(port, `${rawHead('Content-Length: 50\r\n')}{"node":`);
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toContain('"title":"Request Timeout"');
  });

  it('refuse a head that is too large', async () => {
    const { port } = await reportsServer();
    expect(await sendRaw(port, rawHead(`X-Large: ${'x'.repeat(20_000)}\r\n`))).toMatch(/^HTTP\/1.1 431 /);
  });

  it('hold for connections without an accepted token: the others wait, and are let in when those had their chance', async () => {
    const { port, registry } = await reportsServer({ connectionLimits: { unauthenticatedMax: 2, settledMs: 300 } });
    const gauge = () => sample(registry, 'rollcall_coordinator_report_connections');
    const closed: number[] = [];
    const sockets: Socket[] = [];
    for (const index of [0, 1, 2]) {
      sockets.push(connect(port, '127.0.0.1').on('close', () => closed.push(index)));
      await vi.waitFor(async () => expect(await gauge()).toBe(index + 1));
    }
    expect(closed).toEqual([]);
    expect(await send(port, heartbeat)).toMatchObject({ status: 200 });
    await expect.poll(() => closed.sort()).toEqual([0, 1]);
    for (const socket of sockets) socket.destroy();
    await vi.waitFor(async () => expect(await gauge()).toBe(0));
  });

  it('close a connection for no stranger whose token was accepted', async () => {
    const { port, registry } = await reportsServer({ connectionLimits: { unauthenticatedMax: 1, settledMs: 100 } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await send(port, heartbeat, { agent })).toMatchObject({ status: 200 });
    const strangers = Array.from({ length: 5 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    const evicted = 'rollcall_coordinator_report_connections_closed_total{reason="full"}';
    await expect.poll(() => sample(registry, evicted)).toBe(4);
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
    expect(await send(port, heartbeat, { agent })).toMatchObject({ status: 200 });
    for (const socket of strangers) socket.destroy();
    agent.destroy();
  });

  it.each([
    { whose: 'no account', token: 'made-up', status: 401 },
    { whose: 'others than agents', token: 'stranger', status: 403 },
  ])('close a connection on which tokens of $whose come one after the other', async ({ token, status }) => {
    const { port } = await reportsServer();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { authorization: `Bearer ${token}` };
    const answers = [];
    for (let index = 0; index < 3; index += 1) answers.push(await send(port, heartbeat, { agent, headers }));
    expect(answers.map(({ status }) => status)).toEqual([status, status, status]);
    expect(answers.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'keep-alive', 'close']);
    agent.destroy();
  });

  it('close a connection on which three requests in a row were refused, whatever they asked for', async () => {
    const { port } = await reportsServer();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const answers = [];
    for (const path of ['/a', '/v1/reports', '/c']) answers.push(await send(port, 'no JSON', { agent, path }));
    expect(answers.map(({ status }) => status)).toEqual([404, 400, 404]);
    expect(answers.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'keep-alive', 'close']);
    agent.destroy();
  });

  it('give no answer to requests that did not wait for one another', async () => {
    const { port, reviewed } = await reportsServer();
    expect(await sendRaw(port, 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(606))).toBe('');
    expect(reviewed).toEqual([]);
  });

  it('hold for a connection that is reset while it waits, and the others are served', async () => {
    const { port, registry } = await reportsServer({ connectionLimits: { unauthenticatedMax: 1, settledMs: 60_000 } });
    const gauge = () => sample(registry, 'rollcall_coordinator_report_connections');
    const first = connect(port, '127.0.0.1');
    await vi.waitFor(async () => expect(await gauge()).toBe(1));
    const waiting = connect(port, '127.0.0.1');
    await vi.waitFor(async () => expect(await gauge()).toBe(2));
    waiting.resetAndDestroy();
    await vi.waitFor(async () => expect(await gauge()).toBe(1));
    first.destroy();
    expect(await send(port, heartbeat)).toMatchObject({ status: 200 });
  });

  it('do not tie up the server when authentication is slow and the client leaves', async () => {
    const { port, surroundings, registry } = await reportsServer();
    const { promise, resolve } = Promise.withResolvers<AgentIdentity>();
    surroundings.identities.get = () => promise as never;
    const socket = connect(port, '127.0.0.1');
    const text = wire(heartbeat);
    socket.write(rawHead(`Content-Length: ${text.length + 1}\r\n`) + text);
    await vi.waitFor(async () => expect(await sample(registry, 'rollcall_coordinator_report_connections')).toBe(1));
    socket.destroy();
    await vi.waitFor(async () => expect(await sample(registry, 'rollcall_coordinator_report_connections')).toBe(0));
    resolve({ node: 'n1', pod: POD });
    await vi.waitFor(async () =>
      expect(await sample(registry, 'rollcall_coordinator_reports_total{result="aborted"}')).toBe(1),
    );
  });
});

describe('over TLS', () => {
  async function startTls(options: Parameters<typeof reportsServer>[0] = {}) {
    const nowMs = Date.now();
    const authority = await createAuthority({ nowMs });
    const certificates = new CertificateHolder();
    certificates.set(await issueLeaf(authority, { names: ['127.0.0.1'], nowMs }));
    return { ...(await reportsServer({ certificates, ...options })), ca: authority.cert };
  }

  it('a report is taken like any other, by HTTP/1.1 alone', async () => {
    const { port, ca } = await startTls();
    const socket = connectTls({ port, host: '127.0.0.1', ca, ALPNProtocols: ['h2', 'http/1.1'] });
    const text = wire(full);
    socket.write(`${rawHead(`Content-Length: ${text.length}\r\nConnection: close\r\n`)}${text}`);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(socket.alpnProtocol).toBe('http/1.1');
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it('a client that speaks HTTP/2 alone is refused in the handshake', async () => {
    const { port, ca } = await startTls();
    const socket = connectTls({ port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
    const [error] = await once(socket, 'error');
    expect(error.code).toBe('ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL');
  });

  it('a handshake that does not come to an end is cut off', async () => {
    const { port, registry } = await startTls({ requestTimeoutMs: 200 });
    expect(await sendRaw(port, '')).toBe('');
    expect(await sendRaw(port, Buffer.from('16030100', 'hex'))).toBe('');
    await expect.poll(() => sample(registry, 'rollcall_coordinator_report_connections')).toBe(0);
  });

  it('a connection waits for its handshake without being read from', async () => {
    const { port, ca } = await startTls({ connectionLimits: { unauthenticatedMax: 1, settledMs: 500 } });
    const first = connect(port, '127.0.0.1').on('error', () => {});
    await once(first, 'connect');
    const second = connectTls({ port, host: '127.0.0.1', ca });
    const text = wire(full);
    second.write(`${rawHead(`Content-Length: ${text.length}\r\nConnection: close\r\n`)}${text}`);
    let answer = '';
    for await (const chunk of second) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    first.destroy();
  });

  it('a handshake that does not come to an end is no report that was refused', async () => {
    const { port, registry } = await startTls({ requestTimeoutMs: 200 });
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
    expect(await registry.metrics()).not.toMatch(/^rollcall_coordinator_reports_total\{.*\} [1-9]/m);
  });

  it('a connection whose handshake did not begin holds no stop back', async () => {
    const { port, stop, registry } = await startTls();
    connect(port, '127.0.0.1').on('error', () => {});
    await expect.poll(() => sample(registry, 'rollcall_coordinator_report_connections')).toBe(1);
    const beganMs = performance.now();
    await stop(60_000);
    expect(performance.now() - beganMs).toBeLessThan(2000);
  });

  it('what a connection sends while it waits for its place takes no memory here', async () => {
    const { port, server } = await startTls({ connectionLimits: { unauthenticatedMax: 1, settledMs: 60_000 } });
    const sockets: Socket[] = [];
    server.on('connection', (socket) => sockets.push(socket));
    const first = connect(port, '127.0.0.1').on('error', () => {});
    await expect.poll(() => sockets.length).toBe(1);
    const waiting = connect(port, '127.0.0.1').on('error', () => {});
    await expect.poll(() => sockets.length).toBe(2);
    await promisify<string, void>((text, done) => waiting.write(text, done))('x'.repeat(10_000));
    await setTimeout(50);
    expect(sockets[1]?.bytesRead).toBe(0);
    for (const socket of [first, waiting]) socket.destroy();
  });

  it('old versions of TLS, and no TLS at all, are refused', async () => {
    const { port, ca } = await startTls();
    const old = connectTls({ port, host: '127.0.0.1', ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
    await expect(once(old, 'secureConnect')).rejects.toThrow();
    expect(await sendRaw(port, rawHead(''))).not.toContain('200');
    await expect(send(port, heartbeat)).rejects.toThrow();
  });
});

it('keeps nothing of connections that are over: agents come and go for months', async () => {
  const { port, server } = await reportsServer();
  const sockets: WeakRef<Socket>[] = [];
  server.on('connection', (socket) => sockets.push(new WeakRef(socket)));
  for (let index = 0; index < 20; index += 1) await send(port, heartbeat);
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  // The last ones may still be in the hands of Node.js.
  await expect
    .poll(() => {
      collect();
      return sockets.filter((socket) => socket.deref()).length;
    })
    .toBeLessThan(10);
  expect(sockets).toHaveLength(20);
});

describe('stopping', () => {
  it('first asks clients to go, one answer after the other', async () => {
    const { port, drain } = await reportsServer();
    const agent = new Agent({ keepAlive: true });
    expect((await send(port, heartbeat, { agent })).headers.connection).toBe('keep-alive');
    drain();
    expect(await send(port, heartbeat, { agent })).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await send(port, heartbeat, { agent, path: '/x' })).toMatchObject({ headers: { connection: 'close' } });
    agent.destroy();
  });

  it('answers what is under way, and ends what is idle at once', async () => {
    const { port, stop, surroundings, reviewed } = await reportsServer();
    const { promise, resolve } = Promise.withResolvers<void>();
    const identity = { node: 'n1', pod: POD };
    surroundings.identities.get = () => promise.then(() => identity) as never;
    const agent = new Agent({ keepAlive: true });
    await send(port, heartbeat, { agent, path: '/x' });
    const underWay = send(port, heartbeat);
    await vi.waitFor(() => expect(reviewed).toHaveLength(1));
    const stopped = stop();
    await vi.waitFor(() => expect(Object.values(agent.freeSockets).flat()).toHaveLength(0));
    resolve();
    expect(await underWay).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await stopped;
    await expect(send(port, heartbeat)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    agent.destroy();
  });

  it('does not wait longer than it may', async () => {
    const { port, stop, reviewed } = await reportsServer();
    const answer = sendRaw(port, rawHead('Content-Length: 50\r\n'));
    await vi.waitFor(() => expect(reviewed).toHaveLength(1));
    await stop();
    expect(await answer).toBe('');
  });
});
