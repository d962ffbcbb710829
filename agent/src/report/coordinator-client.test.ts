import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { systemClock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { REPLY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { listenOnLoopback } from '../probes/testing/servers.ts';
import { CoordinatorClient } from './coordinator-client.ts';
import { registerReportMetrics } from './metrics.ts';
import { EARLY, FIRST, LATE, SECOND, SERVER_NAME, STRANGER, type TestIdentity } from './testing/certificates.ts';
import { redirectTo, TestCoordinator } from './testing/coordinator.ts';

const LIMIT = { timeout: 10_000 };

const TIMEOUT_MS = 5000;

let directory: string;
let client: CoordinatorClient;
let registry: Registry;
let coordinators: TestCoordinator[];
let rendered: number;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-client-'));
  put('token', 'token-1');
  put('ca.crt', FIRST.ca);
  registry = new Registry();
  coordinators = [];
  rendered = 0;
  client = new CoordinatorClient({
    caFile: path.join(directory, 'ca.crt'),
    tokenFile: path.join(directory, 'token'),
    serverName: SERVER_NAME,
    clock: systemClock,
    logger: silentLogger(),
    metrics: registerReportMetrics(registry),
  });
});

afterEach(async () => {
  client.close();
  for (const coordinator of coordinators) await coordinator.stop();
  rmSync(directory, { recursive: true });
});

/** Replaces a file in one step, as the kubelet does. */
function put(name: string, content: string) {
  writeFileSync(path.join(directory, `${name}.new`), content);
  renameSync(path.join(directory, `${name}.new`), path.join(directory, name));
}

async function start(identity?: TestIdentity): Promise<TestCoordinator> {
  const coordinator = await new TestCoordinator(identity).start();
  coordinators.push(coordinator);
  return coordinator;
}

/** Completes TLS handshakes, answers nothing, and remembers every byte that it could decrypt. */
async function startListener(identity: TestIdentity) {
  let heard = '';
  const server = createTlsServer(identity, (socket) => {
    socket.setEncoding('utf8').on('data', (text) => {
      heard += text;
    });
  });
  server.on('tlsClientError', () => {});
  const { port, close } = await listenOnLoopback(server);
  return { origin: `https://127.0.0.1:${port}`, heard: () => heard, close };
}

function deliver(coordinator: { origin: string }, timeoutMs = TIMEOUT_MS, signal = new AbortController().signal) {
  const render = () => {
    rendered += 1;
    return JSON.stringify({ sequence: rendered });
  };
  return client.deliver(coordinator.origin, render, timeoutMs, signal);
}

function failing(code: string, fields: object = {}) {
  return expect.objectContaining({ code, fields: expect.objectContaining(fields) });
}

async function count(result: string): Promise<number | undefined> {
  const metric = await registry.getSingleMetric('rollcall_agent_reports_total')?.get();
  return metric?.values.find(({ labels }) => labels['result'] === result)?.value;
}

describe('a report that is delivered', () => {
  test.each([
    ['http://[::1]:81', { hostname: '::1', port: '81' }],
    ['http://127.0.0.1', { hostname: '127.0.0.1' }],
    ['https://coordinator.svc:8443', { hostname: 'coordinator.svc', port: '8443' }],
  ])('goes to the address of %s', async (origin, address) => {
    const open = vi.fn((_options: object) => {
      throw new Error('not connected');
    });
    const module = origin.startsWith('https:') ? 'node:https' : 'node:http';
    vi.spyOn(process.getBuiltinModule(module), 'request').mockImplementation(open as never);
    await expect(deliver({ origin })).rejects.toThrow('Cannot reach');
    vi.restoreAllMocks();
    const { hostname, port, path }: Record<string, unknown> = { ...open.mock.calls[0]?.[0] };
    expect({ hostname, ...(port === undefined ? {} : { port }), path }).toEqual({ ...address, path: '/v1/reports' });
  });

  test('goes to the path of reports with the token, over one connection that is kept', async () => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => ({
      body: {
        nextReportSeconds: 5,
        services: [{ name: 'a', digest: 'd', probe: { kind: 'tcp' }, target: { host: 'h', port: 1 } }],
      },
    });
    const delivery = await deliver(coordinator);
    await deliver(coordinator);
    expect(delivery).toEqual({
      origin: coordinator.origin,
      reply: {
        nextReportSeconds: 5,
        full: false,
        services: [{ name: 'a', digest: 'd', probe: { kind: 'tcp' }, target: { host: 'h', port: 1 } }],
      },
    });
    expect(coordinator.taken).toMatchObject([
      { path: '/v1/reports', authorization: 'Bearer token-1', report: { sequence: 1 } },
      { report: { sequence: 2 } },
    ]);
    expect(coordinator.connections).toBe(1);
    expect(await count('accepted')).toBe(2);
  });

  test('leaves no connection to where reports no longer go', async () => {
    const [former, present] = [await start(FIRST), await start(FIRST)];
    await deliver(former);
    expect(former.open).toBe(1);
    await deliver(present);
    await vi.waitFor(() => expect(former.open).toBe(0), LIMIT);
    expect(present.open).toBe(1);
    client.close();
    await vi.waitFor(() => expect(present.open).toBe(0), LIMIT);
  });

  test('needs no TLS on this machine', async () => {
    const coordinator = await start();
    rmSync(path.join(directory, 'ca.crt'));
    await deliver(coordinator);
    expect(coordinator.last?.authorization).toBe('Bearer token-1');
  });

  test('is sent again, as another one, when the kept connection was closed meanwhile', async () => {
    const coordinator = await start(FIRST);
    await deliver(coordinator);
    // The close is on its way while the next report goes out.
    coordinator.dropConnections();
    await deliver(coordinator);
    expect(coordinator.last?.report.sequence).toBe(rendered);
    expect(await count('failed')).toBe(0);
  });
});

describe('the token', () => {
  test('is read anew for each report', async () => {
    const coordinator = await start(FIRST);
    await deliver(coordinator);
    put('token', 'token-2\n');
    await deliver(coordinator);
    expect(coordinator.taken.map(({ authorization }) => authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  test('that is missing keeps the report back', async () => {
    const coordinator = await start(FIRST);
    rmSync(path.join(directory, 'token'));
    await expect(deliver(coordinator)).rejects.toThrow(failing('TOKEN_UNREADABLE'));
    expect(coordinator.connections).toBe(0);
  });

  test.each([
    ['another CA', SECOND],
    ['another name', STRANGER],
  ])('is not shown to a coordinator with %s', async (_what, identity) => {
    const impostor = await startListener(identity);
    for (let i = 0; i < 20; i += 1) {
      await expect(deliver(impostor)).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
    }
    await impostor.close();
    expect(impostor.heard()).toBe('');
    expect(await count('failed')).toBe(20);
  });

  test.each([
    ['is not valid yet', EARLY],
    ['has expired', LATE],
  ])('is not shown to a coordinator whose certificate %s, and the error names the clock', async (what, identity) => {
    put('ca.crt', identity.ca);
    const impostor = await startListener(identity);
    const error = await deliver(impostor).catch((err: unknown) => err);
    expect(error).toMatchObject({ code: 'COORDINATOR_UNREACHABLE', fields: { coordinator: impostor.origin } });
    const by = String.raw`by the clock of this node, \d{4}-\S+Z; the clock of this node or of the coordinator is probably wrong`;
    const message = new RegExp(`^The certificate of the coordinator at ${impostor.origin} ${what} ${by}$`);
    expect((error as Error).message).toMatch(message);
    await impostor.close();
    expect(impostor.heard()).toBe('');
  });

  test('is shown to a coordinator with the right CA and name, as far as such a listener can tell', async () => {
    const trusted = await startListener(FIRST);
    await expect(deliver(trusted, 500)).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
    await trusted.close();
    expect(trusted.heard()).toContain('Bearer token-1');
  });

  test('is never sent by plain HTTP, even where a redirect leads there', async () => {
    const plain = await start();
    const coordinator = await start(FIRST);
    coordinator.answer = () => redirectTo(`${plain.origin}/v1/reports`);
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_REFUSED', { status: 307 }));
    expect(plain.connections).toBe(0);
  });
});

describe('the CA', () => {
  test('is read anew when it changes, and what the old one vouched for is not used any more', async () => {
    const coordinator = await start(FIRST);
    await deliver(coordinator);
    put('ca.crt', SECOND.ca);
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
    put('ca.crt', `${SECOND.ca}${FIRST.ca}`);
    await deliver(coordinator);
    await deliver(await start(SECOND));
    expect(coordinator.taken).toHaveLength(2);
  });

  test('that changed leaves no connection that only the old one vouched for', async () => {
    const coordinator = await start(FIRST);
    await deliver(coordinator);
    put('ca.crt', `${SECOND.ca}${FIRST.ca}`);
    await deliver(coordinator);
    expect(coordinator.connections).toBe(2);
    await vi.waitFor(() => expect(coordinator.open).toBe(1), LIMIT);
  });

  test('that is not there yet is waited for', async () => {
    const coordinator = await start(FIRST);
    rmSync(path.join(directory, 'ca.crt'));
    await expect(deliver(coordinator)).rejects.toThrow(failing('CERTIFICATE_INVALID'));
    put('ca.crt', FIRST.ca);
    await deliver(coordinator);
    expect(coordinator.taken).toHaveLength(1);
  });
});

describe('a redirect', () => {
  test('is followed, with the token and a report made for the leader', async () => {
    const leader = await start(FIRST);
    const standby = await start(FIRST);
    standby.answer = () => redirectTo(`${leader.origin}/v1/reports`);
    expect((await deliver(standby)).origin).toBe(leader.origin);
    expect(leader.taken).toMatchObject([{ authorization: 'Bearer token-1', report: { sequence: 2 } }]);
    expect(await count('redirected')).toBe(1);
    expect(await count('accepted')).toBe(1);
  });

  test.each([
    ['another CA', SECOND],
    ['another name', STRANGER],
  ])('shows the token to no coordinator with %s', async (_what, identity) => {
    const impostor = await startListener(identity);
    const standby = await start(FIRST);
    standby.answer = () => redirectTo(`${impostor.origin}/v1/reports`);
    await expect(deliver(standby)).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
    await impostor.close();
    expect([impostor.heard(), standby.taken.length]).toEqual(['', 1]);
  });

  test('is followed three times and no more', async () => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => redirectTo('/v1/reports');
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_REFUSED', { status: 307 }));
    expect(coordinator.taken).toHaveLength(4);
  });
});

describe('a refusal', () => {
  test('is told with the coordinator, the status and its reason', async () => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => ({ status: 403, body: { title: 'Forbidden', detail: 'Another node', field: 'node' } });
    const { origin } = coordinator;
    const fields = { coordinator: origin, status: 403, detail: 'Another node', field: 'node', retryAfterMs: 0 };
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_REFUSED', fields));
    expect(await count('refused')).toBe(1);
  });

  test.each([
    [429, '7', 7000],
    [503, '7', 7000],
    [503, '60', 15_000],
  ])('with status %d says how long to wait: %s s', async (status, seconds, retryAfterMs) => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => ({ status, headers: { 'retry-after': seconds } });
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_REFUSED', { status, retryAfterMs }));
  });

  test.each([['{"nextReportSeconds":"soon"}'], ['<html>'], ['']])('is what a reply of %j amounts to', async (body) => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => ({ body });
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_REFUSED', { status: 200 }));
  });
});

describe('a coordinator that cannot be talked to', () => {
  test('is given up on after the time limit', async () => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => undefined;
    const error = await deliver(coordinator, 100).catch((thrown: unknown) => thrown);
    expect(error).toEqual(failing('COORDINATOR_UNREACHABLE'));
    expect(error instanceof CodedError && String(error.cause)).toMatch('No answer within 100 ms');
  });

  test('is given up on when it does not stop talking', async () => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => ({ body: 'x'.repeat(REPLY_BYTES_MAX + 1) });
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
  });

  test('does not hold up the end of the agent', async () => {
    const coordinator = await start(FIRST);
    coordinator.answer = () => undefined;
    const controller = new AbortController();
    const delivery = deliver(coordinator, 60_000, controller.signal);
    controller.abort();
    await expect(delivery).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
  });

  test('is not talked to by an agent that has ended', async () => {
    const coordinator = await start(FIRST);
    const delivery = deliver(coordinator, TIMEOUT_MS, AbortSignal.abort());
    await expect(delivery).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
    expect(coordinator.taken).toEqual([]);
  });

  test('is nothing that lasts: the next report gets through', async () => {
    const coordinator = await start(FIRST);
    await coordinator.stop();
    await expect(deliver(coordinator)).rejects.toThrow(failing('COORDINATOR_UNREACHABLE'));
    await coordinator.start();
    await deliver(coordinator);
    expect(coordinator.taken).toHaveLength(1);
  });
});
