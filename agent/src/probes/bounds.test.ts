import { createServer, type Server } from 'node:https';
import { connect, type Socket } from 'node:net';
import { systemClock } from '@rollcall/common/clock.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createServiceMonitor, type ServiceMonitor } from './service-monitor.ts';
import { openLineFor } from './testing/ask-once.ts';
import { SERVER_CHAIN, SERVER_KEY } from './testing/certificates.ts';
import { type ChildService, startChildService } from './testing/child-service.ts';
import { eventually } from './testing/limits.ts';
import { createRawServer, listenOnLoopback, type RunningServer } from './testing/servers.ts';
import type { ServiceState } from './types.ts';

const PERIOD_MS = 200;
const FAILURE_THRESHOLD = 3;
const HTTPS = { kind: 'https', path: '/', expectedStatuses: ['404'] };

/** Watches a service, and counts in which round it was found to be other than before. */
function watch(
  spec: { kind: string },
  target: { host: string; port: number },
  periodMs = PERIOD_MS,
  timeoutMs = PERIOD_MS,
) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const changes: (ServiceState & { round: number })[] = [];
  const timing = { periodMs, timeoutMs, failureThreshold: FAILURE_THRESHOLD, successThreshold: 1 };
  const definition = { name: 'x', openLine: openLineFor(spec), target, ...timing };
  const monitor: ServiceMonitor = createServiceMonitor(definition, {
    clock: systemClock,
    signal: stop.signal,
    onChange: (state) => changes.push({ ...state, round: monitor.rounds() }),
  });
  monitor.start();
  const untilReady = (ready: boolean) => eventually(() => expect(monitor.state()?.ready).toBe(ready));
  return { monitor, changes, untilReady };
}

function answer404(): Server {
  return createServer({ key: SERVER_KEY, cert: SERVER_CHAIN }, (_request, response) =>
    response.writeHead(404).end('{}'),
  );
}

async function serve(server: Server | ReturnType<typeof createRawServer>): Promise<RunningServer> {
  const running = await listenOnLoopback(server);
  onTestFinished(running.close);
  return running;
}

/** Fills the queue of connections of a process that takes none; what comes after that is not answered. */
function crowd({ host, port }: ChildService): void {
  const sockets: Socket[] = [];
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  for (let count = 0; count < 6; count += 1) sockets.push(connect({ host, port }).on('error', () => {}));
}

/** In how many rounds after the one in which it was last fine a service was found not to be ready. */
function roundsUntilNoticed(changes: readonly { round: number }[], fineUntilRound: number): number {
  return (changes[1]?.round ?? Number.POSITIVE_INFINITY) - fineUntilRound;
}

describe('a kept connection', () => {
  it('carries nine of ten requests', async () => {
    let requests = 0;
    const https = answer404().on('request', () => {
      requests += 1;
    });
    const server = await serve(https);
    const { monitor } = watch(HTTPS, server, 10, 5000);
    await eventually(() => expect(monitor.rounds()).toBeGreaterThanOrEqual(35));
    expect(requests).toBeGreaterThanOrEqual(35);
    expect(server.accepted()).toBeGreaterThan(requests / 10 - 1);
    expect(server.accepted()).toBeLessThanOrEqual(requests / 10 + 1);
    expect(server.connections.size).toBeLessThanOrEqual(1);
  });

  it('is not the only one where the server keeps none: the idle one stays', async () => {
    const https = answer404();
    const server = await serve(
      https.prependListener('request', (_request, response) => void response.setHeader('connection', 'close')),
    );
    const { monitor, changes } = watch(HTTPS, server, 20, 5000);
    await eventually(() => expect(monitor.rounds()).toBeGreaterThanOrEqual(10));
    expect(server.accepted()).toBeGreaterThanOrEqual(10);
    expect(changes).toMatchObject([{ ready: true }]);
  });

  it('shows a process that hangs within the threshold', async () => {
    const service = await startChildService('https');
    onTestFinished(service.end);
    const { monitor, changes, untilReady } = watch(HTTPS, service);
    await untilReady(true);
    await eventually(() => expect(monitor.rounds()).toBeGreaterThan(3));
    const fineUntil = monitor.rounds();
    service.signal('SIGSTOP');
    await untilReady(false);
    expect(roundsUntilNoticed(changes, fineUntil)).toBeLessThanOrEqual(FAILURE_THRESHOLD + 1);
  });

  it('hides for ten rounds at most that another process took the place of the one that answers', async () => {
    const https = answer404();
    const old = await serve(createRawServer((socket) => https.emit('connection', socket)));
    const { monitor, changes, untilReady } = watch(HTTPS, old);
    await untilReady(true);
    await eventually(() => expect(monitor.rounds()).toBeGreaterThan(2));
    // It drains: what is connected goes on, and its port is another's.
    old.closePort();
    const fineUntil = monitor.rounds();
    const other = createServer({ key: SERVER_KEY, cert: SERVER_CHAIN }, (_request, response) => {
      response.writeHead(503).end();
    });
    await new Promise<void>((resolve) => other.listen(old.port, '127.0.0.1', resolve));
    onTestFinished(() => {
      other.close();
      other.closeAllConnections();
    });
    await untilReady(false);
    expect(changes[1]?.evidence).toMatch(/answered 503/);
    expect(roundsUntilNoticed(changes, fineUntil)).toBeLessThanOrEqual(10 + FAILURE_THRESHOLD);
  });

  it('hides for ten rounds at most that no new connection is served', async () => {
    const https = answer404();
    let taken = 0;
    // The handshake of the kernel is all that the others get.
    const server = await serve(
      createRawServer((socket) => (taken++ === 0 ? https.emit('connection', socket) : undefined)),
    );
    const { monitor, changes, untilReady } = watch(HTTPS, server);
    await untilReady(true);
    const fineUntil = monitor.rounds();
    await untilReady(false);
    expect(roundsUntilNoticed(changes, fineUntil)).toBeGreaterThan(FAILURE_THRESHOLD);
    expect(roundsUntilNoticed(changes, fineUntil)).toBeLessThanOrEqual(10 + FAILURE_THRESHOLD);
  });
});

describe('an idle connection to a service that is asked by tcp', () => {
  it('hides for five rounds at most that the queue of connections is full', async () => {
    const service = await startChildService('tcp', 1);
    onTestFinished(service.end);
    const { monitor, changes, untilReady } = watch({ kind: 'tcp' }, service);
    await untilReady(true);
    await eventually(() => expect(monitor.rounds()).toBeGreaterThan(2));
    const fineUntil = monitor.rounds();
    service.signal('SIGSTOP');
    crowd(service);
    await untilReady(false);
    expect(changes[1]?.evidence).toMatch(/did not answer/);
    expect(roundsUntilNoticed(changes, fineUntil)).toBeLessThanOrEqual(5 + FAILURE_THRESHOLD);
  });

  it('hides for five rounds at most that the port is closed, while what is connected goes on', async () => {
    const server = await serve(createRawServer((socket) => socket.resume()));
    const { monitor, changes, untilReady } = watch({ kind: 'tcp' }, server);
    await untilReady(true);
    await eventually(() => expect(monitor.rounds()).toBeGreaterThan(2));
    await eventually(() => expect(server.connections.size).toBe(1));
    const fineUntil = monitor.rounds();
    server.closePort();
    await untilReady(false);
    expect(changes[1]?.evidence).toMatch(/refused the connection/);
    expect(roundsUntilNoticed(changes, fineUntil)).toBeLessThanOrEqual(5);
  });
});
