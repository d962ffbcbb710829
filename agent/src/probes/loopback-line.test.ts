import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { watchedServices } from './service-list.ts';
import { probeOf } from './testing/ask-once.ts';
import { eventually, within } from './testing/limits.ts';
import { closedTarget, createService, listenOnLoopback, type ServiceKind } from './testing/servers.ts';
import { TlsContexts } from './tls-contexts.ts';

const KINDS: ServiceKind[] = ['tcp', 'tls', 'http2', 'http', 'https', 'grpc'];

/** The line to a port of both loopback addresses, as an agent on the network of its host opens it. */
function lineTo(kind: ServiceKind, port: number, onLost = () => {}) {
  const [service] = watchedServices(
    [{ name: 'x', digest: 'd', probe: probeOf(kind), target: { host: 'localhost', port } }],
    {
      timing: { periodMs: 1000, timeoutMs: 900, failureThreshold: 3, successThreshold: 2 },
      place: { hostIp: 'fd00::7', ownAddresses: ['::1', 'fd00::7'], ownPort: Number.NaN },
      clock: systemClock,
      paths: new ProbePaths([]),
      tlsContexts: new TlsContexts(),
    },
  );
  if (!service || 'refusal' in service) throw new Error(service?.refusal);
  const line = service.openLine(onLost);
  onTestFinished(() => line.release());
  const { target } = service;
  return { ask: () => line.ask(target, within(5000), true), hold: () => line.hold(target) };
}

describe.each(KINDS)('a service on loopback, by %s', (kind) => {
  it.each(['127.0.0.1', '::1'] as const)('is found where it listens on %s alone', async (host) => {
    const server = await listenOnLoopback(createService(kind), { host });
    onTestFinished(server.close);
    const { verdict, evidence } = await lineTo(kind, server.port).ask();
    expect([verdict, evidence]).toEqual([
      'healthy',
      expect.stringContaining(`${host === '::1' ? '[::1]' : host}:${server.port} `),
    ]);
  });

  it('has proof when no process listens on either', async () => {
    const { port } = await closedTarget();
    expect(await lineTo(kind, port).ask()).toMatchObject({
      verdict: 'hard',
      evidence: expect.stringContaining(`127.0.0.1:${port} refused the connection twice (ECONNREFUSED)`),
    });
  });
});

it('goes on where a service that listened on one address listens on the other', async () => {
  const first = await listenOnLoopback(createService('tcp'));
  const line = lineTo('tcp', first.port);
  expect((await line.ask()).evidence).toContain('127.0.0.1');
  await first.close();
  const server = createService('tcp');
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen({ host: '::1', port: first.port }, resolve));
  expect(await line.ask()).toMatchObject({ verdict: 'healthy', evidence: expect.stringContaining('[::1]') });
});

it('the end of a service on ::1 alone is known by the connection that is held', async () => {
  const server = await listenOnLoopback(createService('tcp'), { host: '::1' });
  let lost = 0;
  const line = lineTo('tcp', server.port, () => (lost += 1));
  await line.ask();
  line.hold();
  await eventually(() => expect(server.connections.size).toBe(1));
  await server.close();
  await eventually(() => expect(lost).toBe(1));
});
