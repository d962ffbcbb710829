import { connect, type Socket } from 'node:net';
import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTcpProbe } from './tcp-probe.ts';
import { startChildService } from './testing/child-service.ts';
import { eventually, within } from './testing/limits.ts';
import { closedTarget, createService, listenOnLoopback } from './testing/servers.ts';

const probe = createTcpProbe(systemClock);

describe('createTcpProbe', () => {
  it('is healthy when the port takes the connection, and closes it', async () => {
    const server = await listenOnLoopback(createService('tcp'));
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'healthy',
      evidence: `tcp 127.0.0.1:${server.port} accepted the connection`,
    });
    await eventually(() => expect([server.accepted(), server.connections.size]).toEqual([1, 0]));
  });

  it('reaches IPv6 addresses', async () => {
    const server = await listenOnLoopback(createService('tcp'), { host: '::1' });
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'healthy',
      evidence: `tcp [::1]:${server.port} accepted the connection`,
    });
  });

  it('has proof when no process listens', async () => {
    const target = await closedTarget();
    expect(await probe(target, within(5000))).toMatchObject({
      verdict: 'hard',
      evidence: `tcp 127.0.0.1:${target.port} refused the connection twice (ECONNREFUSED)`,
    });
  });

  it('is soft when a name cannot be resolved', async () => {
    const result = await probe({ host: 'nowhere.invalid', port: 80 }, within(5000));
    expect(result.verdict).toBe('soft');
  });

  it('is soft when a hanging process has its queue full, and gives up in time', async () => {
    const service = await startChildService('tcp', 1);
    onTestFinished(service.end);
    service.signal('SIGSTOP');
    const crowd: Socket[] = [];
    onTestFinished(() => crowd.forEach((socket) => void socket.destroy()));
    // The child's queue holds two; the kernel drops the handshakes of those that come after.
    for (let count = 0; count < 6; count += 1) {
      crowd.push(connect({ host: service.host, port: service.port }).on('error', () => {}));
    }
    await eventually(async () => {
      expect(await probe(service, within(200))).toMatchObject({
        verdict: 'soft',
        evidence: `tcp 127.0.0.1:${service.port} did not answer within 200 ms`,
      });
    });
  });

  it('does not even try when it was given up before', async () => {
    const server = await listenOnLoopback(createService('tcp'));
    onTestFinished(server.close);
    expect(await probe(server, AbortSignal.abort())).toMatchObject({ verdict: 'soft' });
    expect(server.accepted()).toBe(0);
  });
});
