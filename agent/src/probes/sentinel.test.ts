import { connect } from 'node:net';
import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exchange } from './exchange.ts';
import { createHttp2Probe } from './http2-probe.ts';
import { Sentinel } from './sentinel.ts';
import { startChildService } from './testing/child-service.ts';
import { eventually, within } from './testing/limits.ts';
import { closedTarget, createRawServer, listenOnLoopback, type RunningServer } from './testing/servers.ts';

function createSentinel(): { sentinel: Sentinel; closes: () => number } {
  let closes = 0;
  const sentinel = new Sentinel(() => {
    closes += 1;
  });
  onTestFinished(() => sentinel.release());
  return { sentinel, closes: () => closes };
}

async function serve(): Promise<RunningServer> {
  const server = await listenOnLoopback(createRawServer((socket) => socket.pipe(socket)));
  onTestFinished(server.close);
  return server;
}

/** A sentinel that is connected to a server. */
async function holding(): Promise<{ server: RunningServer; sentinel: Sentinel; closes: () => number }> {
  const server = await serve();
  const { sentinel, closes } = createSentinel();
  sentinel.hold(server);
  await eventually(() => expect(server.connections.size).toBe(1));
  return { server, sentinel, closes };
}

describe('Sentinel', () => {
  it.each(['end', 'resetAndDestroy'] as const)('calls back once when the other side closes by %s', async (how) => {
    const { server, closes } = await holding();
    for (const socket of server.connections) socket[how]();
    await eventually(() => expect(closes()).toBe(1));
    await eventually(() => expect(server.connections.size).toBe(0));
    expect(closes()).toBe(1);
  });

  it('calls back when the process is killed, even one that hangs', async () => {
    const service = await startChildService('http2');
    onTestFinished(service.end);
    const { sentinel, closes } = createSentinel();
    sentinel.hold(service);
    // Connections are taken in order: once this one was answered, the one before it stands.
    expect((await createHttp2Probe(systemClock)(service, within(5000))).verdict).toBe('healthy');
    service.signal('SIGSTOP');
    expect(closes()).toBe(0);
    service.signal('SIGKILL');
    await eventually(() => expect(closes()).toBe(1));
  });

  it('calls back when the connection is not taken', async () => {
    const { sentinel, closes } = createSentinel();
    sentinel.hold(await closedTarget());
    await eventually(() => expect(closes()).toBe(1));
  });

  it('calls back when it reached only itself, and keeps no port from a service', async () => {
    const { host, port } = await closedTarget();
    let closes = 0;
    const sentinel = new Sentinel(
      () => {
        closes += 1;
      },
      // As the kernel may choose by chance.
      () => connect({ host, port, localPort: port, localAddress: host }),
    );
    onTestFinished(() => sentinel.release());
    sentinel.hold({ host, port });
    await eventually(() => expect(closes).toBe(1));
    expect(sentinel.connected).toBe(false);
  });

  it('has the kernel look after a peer that vanished without a word', async () => {
    const server = await serve();
    const asked: unknown[] = [];
    const sentinel = new Sentinel(
      () => {},
      (options) => {
        asked.push(options);
        return connect(options);
      },
    );
    onTestFinished(() => sentinel.release());
    sentinel.hold(server);
    expect(asked).toMatchObject([
      { host: server.host, port: server.port, keepAlive: true, keepAliveInitialDelay: 15_000 },
    ]);
  });

  it('can be told to hold again from within the callback', async () => {
    const server = await serve();
    const sentinel: Sentinel = new Sentinel(() => sentinel.hold(server));
    onTestFinished(() => sentinel.release());
    sentinel.hold(server);
    for (const expected of [1, 2, 3]) {
      await eventually(() => expect(server.accepted()).toBe(expected));
      for (const socket of server.connections) socket.end();
    }
  });

  it('holds one connection however often it is told to', async () => {
    const { server, sentinel } = await holding();
    sentinel.hold(server);
    // Connections are taken in order: another one would have come before this one.
    await exchange(server, within(5000), Buffer.from('?'), 1);
    expect(server.accepted()).toBe(2);
  });

  it('does not call back when it lets go itself, and can hold another target afterwards', async () => {
    const { server, sentinel, closes } = await holding();
    const other = await serve();
    sentinel.release();
    sentinel.hold(other);
    await eventually(() => expect([server.connections.size, other.connections.size]).toEqual([0, 1]));
    expect(closes()).toBe(0);
  });

  it('gives up a peer that talks without end', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.write(Buffer.alloc(256 * 1024))));
    onTestFinished(server.close);
    const { sentinel, closes } = createSentinel();
    sentinel.hold(server);
    await eventually(() => expect(closes()).toBe(1));
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('keeps a peer that says a greeting, and sees its end', async () => {
    const server = await listenOnLoopback(createRawServer((socket) => socket.write('220 welcome\r\n')));
    onTestFinished(server.close);
    const { sentinel, closes } = createSentinel();
    sentinel.hold(server);
    await eventually(() => expect(server.connections.size).toBe(1));
    expect(closes()).toBe(0);
    for (const socket of server.connections) socket.end();
    await eventually(() => expect(closes()).toBe(1));
  });
});
