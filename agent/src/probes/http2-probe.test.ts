import { createServer } from 'node:http';
import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttp2Probe } from './http2-probe.ts';
import { startChildService } from './testing/child-service.ts';
import { within } from './testing/limits.ts';
import { closedTarget, createRawServer, createService, listenOnLoopback } from './testing/servers.ts';

const probe = createHttp2Probe(systemClock);

/** What the probe says of a server that answers every connection with `bytes`. */
async function probeAnswer(bytes: number[]): Promise<string> {
  const server = await listenOnLoopback(createRawServer((socket) => socket.end(Uint8Array.from(bytes))));
  onTestFinished(server.close);
  const { verdict, evidence } = await probe(server, within(5000));
  return `${verdict}: ${evidence.split(' ').slice(2).join(' ')}`;
}

describe('createHttp2Probe', () => {
  it('is healthy when the server answers with SETTINGS', async () => {
    const server = await listenOnLoopback(createService('http2'));
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'healthy',
      evidence: `http2 127.0.0.1:${server.port} answered with SETTINGS`,
    });
  });

  it('says what a client says first, with no settings of its own, which are not acknowledged either', async () => {
    const received: Buffer[] = [];
    const server = await listenOnLoopback(
      createRawServer((socket) => {
        socket.on('data', (chunk: Buffer) => {
          received.push(chunk);
          if (Buffer.concat(received).length === 33) socket.end(Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0));
        });
      }),
    );
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({ verdict: 'healthy' });
    const text = Buffer.concat(received).toString('latin1');
    expect(text).toBe('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  });

  it('looks at type, stream, flags and length of the first frame', async () => {
    expect(await probeAnswer([0, 0, 0, 4, 0, 0, 0, 0, 0])).toBe('healthy: answered with SETTINGS');
    expect(await probeAnswer([0, 0, 6, 4, 0, 0, 0, 0, 0])).toBe('healthy: answered with SETTINGS');
    const other = 'soft: did not answer in HTTP/2';
    expect(await probeAnswer([0, 0, 8, 7, 0, 0, 0, 0, 0])).toBe(other);
    expect(await probeAnswer([0, 0, 0, 4, 0, 0, 0, 0, 1])).toBe(other);
    expect(await probeAnswer([0, 0, 0, 4, 1, 0, 0, 0, 0])).toBe(other);
    expect(await probeAnswer([0, 0, 5, 4, 0, 0, 0, 0, 0])).toBe(other);
  });

  it('leaves out of account what a server may set as it likes', async () => {
    const healthy = 'healthy: answered with SETTINGS';
    // A flag that is not known, the reserved bit of the stream, and settings by the dozen.
    expect(await probeAnswer([0, 0, 0, 4, 2, 0, 0, 0, 0])).toBe(healthy);
    expect(await probeAnswer([0, 0, 0, 4, 0, 0x80, 0, 0, 0])).toBe(healthy);
    expect(await probeAnswer([0, 1, 2, 4, 0, 0, 0, 0, 0])).toBe(healthy);
  });

  it('looks at every byte of the stream and of the length', async () => {
    const other = 'soft: did not answer in HTTP/2';
    for (const stream of [
      [0x40, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
    ]) {
      expect(await probeAnswer([0, 0, 0, 4, 0, ...stream])).toBe(other);
    }
    expect(await probeAnswer([1, 0, 0, 4, 0, 0, 0, 0, 0])).toBe(other);
    expect(await probeAnswer([0, 1, 0, 4, 0, 0, 0, 0, 0])).toBe(other);
  });

  it('is soft when the server speaks HTTP/1.1 only', async () => {
    const server = await listenOnLoopback(createServer());
    onTestFinished(server.close);
    expect(await probe(server, within(5000))).toMatchObject({
      verdict: 'soft',
      evidence: `http2 127.0.0.1:${server.port} did not answer in HTTP/2`,
    });
  });

  it('has proof when no process listens', async () => {
    expect(await probe(await closedTarget(), within(5000))).toMatchObject({ verdict: 'hard' });
  });

  it('sees a process that hangs', async () => {
    const service = await startChildService('http2');
    onTestFinished(service.end);
    expect(await probe(service, within(5000))).toMatchObject({ verdict: 'healthy' });
    service.signal('SIGSTOP');
    expect(await probe(service, within(200))).toMatchObject({
      verdict: 'soft',
      evidence: `http2 127.0.0.1:${service.port} did not answer within 200 ms`,
    });
  });
});
