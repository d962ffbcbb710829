import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FullReport, ServiceReport } from '@rollcall/common/report.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AgentProcess, httpGet, listenAddress, startAgentProcess, until } from './main.test-fixtures.ts';
import { SERVER_CHAIN, SERVER_KEY } from './probes/testing/certificates.ts';
import { createRawServer, createService, listenOnLoopback, type RunningServer } from './probes/testing/servers.ts';
import { TestCoordinator } from './report/testing/coordinator.ts';

// Each starts a process, and waits for what it does.
vi.setConfig({ testTimeout: 30_000 });

const NOT_FOUND = { kind: 'https', expectedStatuses: ['404'] };
/** Another address of this machine, like the address of a pod. */
const POD = '127.0.0.2';

let directory: string;
let coordinator: TestCoordinator;
let agents: AgentProcess[];
let wsDaemon: RunningServer;
let registryFacade: RunningServer;
/** How registry-facade answers. */
let statusNow: () => number;

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-agent-'));
  writeFileSync(path.join(directory, 'token'), 'token');
  coordinator = await new TestCoordinator().start();
  agents = [];
  wsDaemon = await listenOnLoopback(createService('tcp'), { host: POD });
  statusNow = () => 404;
  registryFacade = await listenOnLoopback(
    createServer({ key: SERVER_KEY, cert: SERVER_CHAIN }, (_request, response) =>
      response.writeHead(statusNow()).end(),
    ),
  );
});

afterEach(async () => {
  for (const { child, exit } of agents) {
    child.kill('SIGKILL');
    await exit;
  }
  await coordinator.stop();
  await wsDaemon.close();
  await registryFacade.close();
  rmSync(directory, { recursive: true });
});

/** An agent of a machine without hardware. */
function startAgent(flags: string[] = []): AgentProcess {
  const agent = startAgentProcess([
    '--node-name=node-1',
    `--coordinator-url=${coordinator.origin}`,
    `--token-file=${path.join(directory, 'token')}`,
    '--listen=127.0.0.1:0',
    `--sysfs-root=${directory}`,
    `--procfs-root=${directory}`,
    ...flags,
  ]);
  agents.push(agent);
  return agent;
}

/** What the list of a coordinator says of ws-daemon and of registry-facade. */
function bothServices(): object[] {
  return [
    {
      name: 'ws-daemon',
      digest: 'd',
      probe: { kind: 'tcp' },
      target: { host: POD, port: wsDaemon.port },
      podAddresses: [POD],
    },
    {
      name: 'registry-facade',
      digest: 'd',
      probe: NOT_FOUND,
      target: { host: '127.0.0.1', port: registryFacade.port },
    },
  ];
}

function answer(services: unknown, nextReportSeconds = 600): void {
  coordinator.answer = () => ({ body: { nextReportSeconds, services } });
}

/** All that was said of a service, one after the other. */
function said(name: string): ServiceReport[] {
  const reports = coordinator.taken.map(({ report }) => report as FullReport).filter(({ services }) => services);
  return reports.flatMap(({ services }) => services.filter((service) => service.name === name));
}

async function readyz(agent: AgentProcess) {
  return httpGet(`http://${await listenAddress(agent)}/readyz?verbose`);
}

describe('an agent that has just started', () => {
  test('says of no service that it is not ready before it has asked where the coordinator says that it is', async () => {
    answer(bothServices());
    startAgent();
    for (const name of ['ws-daemon', 'registry-facade']) {
      await until(() => expect(said(name).at(-1)).toMatchObject({ ready: true }));
      for (const { ready, unknown } of said(name)) expect(ready || unknown).toBe(true);
    }
  });

  test('probes nothing on its node before a coordinator has said what', async () => {
    coordinator.answer = () => ({ status: 503, body: {} });
    const agent = startAgent(['--probe-period-ms=100']);
    await until(() => expect(coordinator.taken.length).toBeGreaterThan(3));
    expect((await httpGet(`http://${await listenAddress(agent)}/metrics`)).body).not.toContain('service="');
    for (const { report } of coordinator.taken) expect((report as FullReport).services ?? []).toEqual([]);
  });

  test('reports what it knows at once, however slow the thresholds of its services', async () => {
    answer(bothServices());
    const startMs = performance.now();
    const agent = startAgent(['--probe-period-ms=20000', '--success-threshold=3']);
    await until(() => expect(said('ws-daemon')).not.toEqual([]));
    expect(performance.now() - startMs).toBeLessThan(10_000);
    await until(async () => expect((await readyz(agent)).status).toBe(200));
    await until(() => expect(said('ws-daemon').at(-1)?.evidence).toMatch(/^not known yet/));
    expect(coordinator.taken[0]?.report).toMatchObject({ version: VERSION });
  });

  test('is not ready before a report was taken, and stays ready when the coordinator goes', async () => {
    coordinator.answer = () => ({ status: 503, body: {} });
    const agent = startAgent(['--probe-period-ms=100']);
    await until(() => expect(coordinator.taken.length).toBeGreaterThan(2));
    const { status, body } = await readyz(agent);
    expect(status).toBe(503);
    expect(body).toMatch(/^\[-\]first-report failed: no coordinator has accepted a report yet$/m);
    answer(bothServices(), 0.2);
    await until(async () => expect((await readyz(agent)).status).toBe(200));
    await coordinator.stop();
    await until(() => expect(agent.lines().map(({ msg }) => msg)).toContain('Could not deliver a report'));
    expect((await readyz(agent)).status).toBe(200);
    await coordinator.start();
    answer(
      [
        ...bothServices(),
        { name: 'late', digest: 'd', probe: { kind: 'tcp' }, target: { host: '127.0.0.1', port: 1 } },
      ],
      0.2,
    );
    await until(() => expect(said('late')).not.toEqual([]));
    expect((await readyz(agent)).status).toBe(200);
  });

  test('is not ready before it has asked where it was told to', async () => {
    const silent = await listenOnLoopback(createRawServer((socket) => socket.resume()));
    const [first] = bothServices();
    answer([
      first,
      { name: 'registry-facade', digest: 'd', probe: NOT_FOUND, target: { host: '127.0.0.1', port: silent.port } },
    ]);
    const agent = startAgent(['--probe-timeout-ms=60000']);
    await until(() => expect(said('ws-daemon').at(-1)?.ready).toBe(true));
    const { status, body } = await readyz(agent);
    await silent.close();
    expect(status).toBe(503);
    expect(body).toMatch(/^\[-\]first-probe-round failed: not yet probed: registry-facade$/m);
  });
});

describe('the list of services in a reply', () => {
  test('adds, changes and takes away services without a restart', async () => {
    answer(
      [{ name: 'x', digest: 'd', probe: { kind: 'tcp' }, target: { host: '127.0.0.1', port: registryFacade.port } }],
      0.2,
    );
    startAgent();
    await until(() => expect(said('x').at(-1)?.evidence).toMatch(/^tcp /));
    expect(coordinator.taken.map(({ report }) => report as FullReport).at(-1)?.services?.length ?? 1).toBe(1);
    const target = { host: '127.0.0.1', port: registryFacade.port };
    answer([{ name: 'x', digest: 'd', probe: NOT_FOUND, target }], 0.2);
    await until(() => expect(said('x').at(-1)?.evidence).toMatch(/^https .* answered 404 as expected$/));
    answer([], 0.2);
    const last = () => coordinator.taken.map(({ report }) => report as FullReport).findLast(({ services }) => services);
    await until(() => expect(last()?.services).toEqual([]));
  });

  test('may ask for what this agent does not know, or must not do: that is said, and the rest goes on', async () => {
    answer([
      ...bothServices(),
      { name: 'newer', digest: 'd', probe: { kind: 'quic' }, target: { host: '127.0.0.1', port: 1 } },
      { name: 'metadata', digest: 'd', probe: { kind: 'tcp' }, target: { host: '169.254.169.254', port: 80 } },
      { name: 'broken', digest: 'd', probe: 7 },
      { name: 'passwd', digest: 'd', probe: { kind: 'file', path: '/etc/passwd' } },
    ]);
    startAgent([`--probe-paths=${directory}`]);
    await until(() => expect(said('ws-daemon').at(-1)?.ready).toBe(true));
    for (const [name, reason] of [
      ['newer', /no probe of the kind quic$/],
      ['metadata', /^not probed: not at 169\.254\.169\.254:80: it is link-local/],
      ['broken', /cannot be read$/],
      ['passwd', /^not probed: not at \/etc\/passwd: --probe-paths of this agent names only /],
    ] as const) {
      expect(said(name).at(-1)).toMatchObject({ ready: false, evidence: expect.stringMatching(reason) });
      expect(said(name).at(-1)).not.toHaveProperty('unknown');
    }
  });
});

test('sockets and files below --probe-paths are probed', async () => {
  const socket = path.join(directory, 'x.sock');
  const plugin = await listenOnLoopback(createService('grpc'), { file: socket });
  answer([
    { name: 'file', digest: 'd', probe: { kind: 'file', path: path.join(directory, 'token') } },
    { name: 'unix', digest: 'd', probe: { kind: 'unix', path: socket } },
    { name: 'grpc', digest: 'd', probe: { kind: 'grpc', socket } },
    { name: 'csi', digest: 'd', probe: { kind: 'csi', socket } },
  ]);
  startAgent([`--probe-paths=${directory}`]);
  await until(() => {
    for (const name of ['file', 'unix', 'grpc']) expect(said(name).at(-1)).toMatchObject({ ready: true });
    expect(said('csi').at(-1)?.evidence).toBe(`csi ${socket} has no csi.v1.Identity (UNIMPLEMENTED)`);
  });
  await plugin.close();
  await until(() => {
    for (const name of ['unix', 'grpc']) expect(said(name).at(-1)).toMatchObject({ ready: false });
  });
  expect(said('file').at(-1)?.ready).toBe(true);
});

test('a service that is wrong in another way each time costs few full reports, and few lines of the log', async () => {
  let asked = 0;
  statusNow = () => [500, 502, 503][asked++ % 3] ?? 500;
  answer(bothServices(), 600);
  const agent = startAgent(['--probe-period-ms=100', '--failure-threshold=1']);
  await until(() => expect(said('registry-facade').at(-1)?.evidence).toMatch(/answered 50\d/));
  const reports = coordinator.taken.length;
  const lines = agent.lines().length;
  const before = asked;
  await until(() => expect(asked).toBeGreaterThan(before + 40));
  // The facts about the machine may come in between.
  expect(coordinator.taken.length - reports).toBeLessThanOrEqual(2);
  expect(agent.lines().length - lines).toBeLessThanOrEqual(1);
  statusNow = () => 404;
  await until(() => expect(said('registry-facade').at(-1)?.ready).toBe(true));
});
