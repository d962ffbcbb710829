import { join } from 'node:path';
import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createServiceMonitor, type ServiceMonitor } from './service-monitor.ts';
import { openLineFor, probeOf } from './testing/ask-once.ts';
import { startChildService } from './testing/child-service.ts';
import { eventually } from './testing/limits.ts';
import { temporaryDirectory } from './testing/local-files.ts';
import { createRawServer, listenOnLoopback } from './testing/servers.ts';
import type { ServiceDefinition, ServiceState } from './types.ts';

type Times = { periodMs: number; timeoutMs: number };
/** So long that only the idle connection can notice anything. */
const ONE_ROUND_ONLY: Times = { periodMs: 3_600_000, timeoutMs: 2000 };

function defineAt(
  port: number,
  name: string,
  times: Times,
  kind: 'tcp' | 'tls' | 'http2' | 'https' = 'tcp',
): ServiceDefinition {
  const timing = { failureThreshold: 3, successThreshold: 1, ...times };
  const openLine = openLineFor(probeOf(kind));
  return { name, openLine, target: { host: '127.0.0.1', port }, ...timing };
}

type Watched = { monitor: ServiceMonitor; changes: ServiceState[]; probes: () => number };

function watch(definition: ServiceDefinition): Watched {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const changes: ServiceState[] = [];
  let probes = 0;
  const monitor = createServiceMonitor(definition, {
    clock: systemClock,
    signal: stop.signal,
    onChange: (state) => changes.push(state),
    onRound: () => {
      probes += 1;
    },
  });
  monitor.start();
  return { monitor, changes, probes: () => probes };
}

describe('a service that is killed', () => {
  it.each([
    ['ws-daemon', 'tcp', 'tcp'],
    ['ws-daemon', 'tls', 'tls'],
    ['ws-daemon', 'http2', 'http2'],
    ['registry-facade', 'https', 'https'],
  ] as const)('is known not to be ready without waiting for a round: %s, probed by %s', async (name, probe, kind) => {
    const service = await startChildService(kind);
    onTestFinished(service.end);
    const { monitor, changes } = watch(defineAt(service.port, name, ONE_ROUND_ONLY, probe));
    await eventually(() => expect(monitor.state()?.ready).toBe(true));
    service.signal('SIGKILL');
    await eventually(() => expect(monitor.state()?.ready).toBe(false));
    expect(changes).toMatchObject([
      { ready: true },
      { ready: false, evidence: `${kind} 127.0.0.1:${service.port} refused the connection twice (ECONNREFUSED)` },
    ]);
    expect(monitor.rounds()).toBe(1);
  });

  it.each([
    ['tcp', { kind: 'unix', path: '/x' }],
    ['grpc', { kind: 'grpc' }],
  ] as const)('is known not to be ready without waiting for a round: at a socket, by %s', async (kind, spec) => {
    const path = join(temporaryDirectory(), 'socket');
    const service = await startChildService(kind, 511, path);
    onTestFinished(service.end);
    const timing = { failureThreshold: 3, successThreshold: 1, ...ONE_ROUND_ONLY };
    const { monitor, changes } = watch({ name: 'x', openLine: openLineFor(spec), target: { path }, ...timing });
    await eventually(() => expect(monitor.state()?.ready).toBe(true));
    service.signal('SIGKILL');
    await eventually(() => expect(monitor.state()?.ready).toBe(false));
    expect(changes.at(-1)?.evidence).toBe(`${spec.kind} ${path} has no listener (ECONNREFUSED)`);
    expect(monitor.rounds()).toBe(1);
  });
});

describe('a service that hangs', () => {
  it.each(['tls', 'http2'] as const)('is not ready after as many rounds as the threshold says: %s', async (kind) => {
    const service = await startChildService(kind);
    onTestFinished(service.end);
    const { monitor } = watch(defineAt(service.port, 'ws-daemon', { periodMs: 50, timeoutMs: 50 }, kind));
    await eventually(() => expect(monitor.state()?.ready).toBe(true));
    service.signal('SIGSTOP');
    await eventually(() => expect(monitor.state()?.ready).toBe(false));
    expect(monitor.state()?.evidence).toBe(`${kind} 127.0.0.1:${service.port} did not answer within 50 ms`);
    service.signal('SIGCONT');
    await eventually(() => expect(monitor.state()?.ready).toBe(true));
  });

  it('does not delay the rounds of another', async () => {
    const hanging = await listenOnLoopback(createRawServer((socket) => socket.resume()));
    onTestFinished(hanging.close);
    const live = await listenOnLoopback(createRawServer((socket) => socket.resume()));
    onTestFinished(live.close);
    const first = watch(defineAt(hanging.port, 'registry-facade', { periodMs: 20, timeoutMs: 60_000 }, 'https'));
    const second = watch(defineAt(live.port, 'ws-daemon', { periodMs: 20, timeoutMs: 60_000 }));
    await eventually(() => expect(second.monitor.rounds()).toBeGreaterThan(10));
    expect(first.monitor.rounds()).toBe(0);
  });
});

describe('a service that closes idle connections', () => {
  it.each([
    ['at once', 0],
    ['after a while', 30],
  ])('stays ready and is not probed in a loop: %s', async (_, afterMs) => {
    const server = await listenOnLoopback(
      createRawServer((socket) => {
        socket.resume();
        setTimeout(() => socket.end(), afterMs);
      }),
    );
    onTestFinished(server.close);
    const { monitor, changes, probes } = watch(defineAt(server.port, 'ws-daemon', { periodMs: 40, timeoutMs: 2000 }));
    await eventually(() => expect(monitor.rounds()).toBeGreaterThanOrEqual(20));
    const extra = probes() - monitor.rounds();
    expect(extra).toBeGreaterThan(0);
    // About one for each round. A busy machine delays rounds more than what comes between them; a loop makes hundreds.
    expect(extra).toBeLessThan(3 * monitor.rounds());
    expect(server.accepted()).toBeLessThanOrEqual(2 * probes() + 1);
    expect(changes).toMatchObject([{ ready: true }]);
  });
});
