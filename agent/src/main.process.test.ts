import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import path from 'node:path';
import type { FullReport } from '@rollcall/common/report.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CORAL, CORAL_USED, FakeSysfs } from './devices/testing/fake-sysfs.ts';
import { type AgentProcess, httpGet, listenAddress, startAgentProcess, until } from './main.test-fixtures.ts';
import { createService, listenOnLoopback, type RunningServer } from './probes/testing/servers.ts';
import { FIRST, SECOND, SERVER_NAME } from './report/testing/certificates.ts';
import { redirectTo, TestCoordinator } from './report/testing/coordinator.ts';

let directory: string;
let coordinators: TestCoordinator[];
let agents: AgentProcess[];
let wsDaemon: RunningServer;
let registryFacade: RunningServer;
let sysfs: FakeSysfs;

beforeEach(async () => {
  sysfs = new FakeSysfs();
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-agent-'));
  coordinators = [];
  agents = [];
  put('token', 'token-1');
  put('ca.crt', FIRST.ca);
  wsDaemon = await listenOnLoopback(createService('tcp'));
  registryFacade = await listenOnLoopback(createService('https'));
});

afterEach(async () => {
  for (const { child, exit } of agents) {
    child.kill('SIGKILL');
    await exit;
  }
  for (const coordinator of coordinators) await coordinator.stop();
  await wsDaemon.close();
  await registryFacade.close();
  rmSync(directory, { recursive: true });
  sysfs.dispose();
});

function put(name: string, content: string) {
  writeFileSync(path.join(directory, `${name}.new`), content);
  renameSync(path.join(directory, `${name}.new`), path.join(directory, name));
}

async function startCoordinator(identity = FIRST): Promise<TestCoordinator> {
  const coordinator = await new TestCoordinator(identity).start();
  coordinator.answer = () => ({ body: { services: bothServices(), nextReportSeconds: 600 } });
  coordinators.push(coordinator);
  return coordinator;
}

function bothServices(): object[] {
  const at = ({ host, port }: RunningServer) => ({ target: { host, port } });
  return [
    { name: 'ws-daemon', digest: 'd', probe: { kind: 'tcp' }, ...at(wsDaemon) },
    {
      name: 'registry-facade',
      digest: 'd',
      probe: { kind: 'https', expectedStatuses: ['404'] },
      ...at(registryFacade),
    },
  ];
}

/** An agent that reports to `coordinators`. */
function startAgent(to: { origin: string }[], flags: string[] = [], stdout: 'pipe' | number = 'pipe'): AgentProcess {
  return runAgent(
    [
      '--node-name=node-1',
      '--probe-period-ms=100',
      `--coordinator-url=${to.map(({ origin }) => origin).join(',')}`,
      `--coordinator-ca-file=${path.join(directory, 'ca.crt')}`,
      `--coordinator-server-name=${SERVER_NAME}`,
      `--token-file=${path.join(directory, 'token')}`,
      '--listen=127.0.0.1:0',
      `--sysfs-root=${sysfs.root}`,
      `--procfs-root=${sysfs.procfs}`,
      ...flags,
    ],
    stdout,
  );
}

function runAgent(argv: string[], stdout: 'pipe' | number = 'pipe'): AgentProcess {
  const agent = startAgentProcess(argv, stdout);
  agents.push(agent);
  return agent;
}

function lastContent(coordinator: TestCoordinator): FullReport | undefined {
  return coordinator.taken.map(({ report }) => report as FullReport).findLast(({ services }) => services);
}

/** The services as last reported. */
function lastServices(coordinator: TestCoordinator) {
  return Object.fromEntries(lastContent(coordinator)?.services.map(({ name, ready }) => [name, ready]) ?? []);
}

/** Names of the devices as last reported. */
function lastDevices(coordinator: TestCoordinator) {
  return lastContent(coordinator)?.devices.map(({ attributes }) => `${attributes['vendor']}:${attributes['device']}`);
}

function untilServices(coordinator: TestCoordinator, services: Record<string, boolean>) {
  return until(() => expect(lastServices(coordinator)).toEqual(services));
}

const ALL_READY = { 'ws-daemon': true, 'registry-facade': true };

describe('the agent', () => {
  test('reports what it sees, and a change long before the next heartbeat', async () => {
    const coordinator = await startCoordinator();
    startAgent([coordinator]);
    await untilServices(coordinator, ALL_READY);
    const { report } = coordinator.taken[0] ?? {};
    expect(report).toMatchObject({ node: 'node-1', sequence: 1, devices: [] });
    expect(report?.boot).toMatch(/^[0-9a-f-]{36}$/);
    await wsDaemon.close();
    await untilServices(coordinator, { ...ALL_READY, 'ws-daemon': false });
  });

  test('reports the facts about the machine as soon as it has them', async () => {
    const coordinator = await startCoordinator();
    coordinator.answer = () => ({ body: { services: bothServices(), nextReportSeconds: 600 } });
    startAgent([coordinator]);
    await untilServices(coordinator, ALL_READY);
    await until(() => expect(lastContent(coordinator)?.facts).toMatchObject({ kernel: release() }));
    for (const { report } of coordinator.taken) {
      const { facts, unread = [] } = report as FullReport;
      expect(unread.includes('facts')).toBe(Object.keys(facts).length === 0);
    }
    expect(coordinator.taken[0]?.report).toMatchObject({ facts: {} });
  });

  test('takes no device for gone that may be about to come back, from its first report on', async () => {
    const coordinator = await startCoordinator();
    startAgent([coordinator], ['--device-removal-grace-seconds=2']);
    await untilServices(coordinator, ALL_READY);
    expect(coordinator.taken[0]?.report).toMatchObject({ devices: [], unread: ['usb', 'pci', 'facts'] });
    await until(() => expect(lastContent(coordinator)).not.toHaveProperty('unread'));
  });

  test('reports devices from the start, and each that is plugged in or unplugged within two seconds', async () => {
    const coordinator = await startCoordinator();
    coordinator.answer = () => ({ body: { services: bothServices(), nextReportSeconds: 600 } });
    sysfs.pci('0000:00:01.0');
    const agent = startAgent([coordinator], ['--device-removal-grace-seconds=0.2']);
    await untilServices(coordinator, ALL_READY);
    for (const { report } of coordinator.taken) expect(report).toMatchObject({ devices: [{ bus: 'pci' }] });
    const plug = async (change: () => void, devices: string[]) => {
      change();
      const startMs = performance.now();
      await until(() => expect(lastDevices(coordinator)).toEqual(devices));
      return performance.now() - startMs;
    };
    const tookMs = [
      await plug(() => sysfs.usb('1-1', CORAL), ['10de:20b0', '1a6e:089a']),
      await plug(() => sysfs.remove('usb', '1-1'), ['10de:20b0']),
      await plug(() => sysfs.usb('1-1', CORAL_USED), ['10de:20b0', '18d1:9302']),
    ];
    expect(Math.max(...tookMs)).toBeLessThan(2000);
    const { body } = await httpGet(`http://${await listenAddress(agent)}/metrics`);
    expect(body).toMatch(/^rollcall_agent_devices\{bus="usb"\} 1$/m);
    expect(body).toMatch(/^rollcall_agent_collector_available\{collector="device-tree"\} 0$/m);
  });

  test('does not say that there are no devices where it cannot look', async () => {
    const coordinator = await startCoordinator();
    startAgent([coordinator], ['--sysfs-root=/nowhere']);
    await untilServices(coordinator, ALL_READY);
    const unread = ['usb', 'pci', 'device-tree'];
    await until(() => expect(lastContent(coordinator)).toMatchObject({ devices: [], unread }));
  });

  test('sends heartbeats without content, and the content at once when asked', async () => {
    const coordinator = await startCoordinator();
    coordinator.answer = (report) => {
      const heartbeat = !('services' in report);
      return { body: { services: bothServices(), nextReportSeconds: heartbeat ? 600 : 0.2, full: heartbeat } };
    };
    startAgent([coordinator]);
    await untilServices(coordinator, ALL_READY);
    await until(() => expect(coordinator.last?.report).not.toHaveProperty('services'));
    // The next heartbeat would be ten minutes away.
    await until(() => expect(coordinator.last?.report).toHaveProperty('services'));
    const reports = coordinator.taken.map(({ report }) => report);
    // Not of the last one necessarily, since the machine may have changed in between.
    const told = new Set(reports.filter((report) => 'services' in report).map(({ digest }) => digest));
    expect(told).toContain(reports.at(-2)?.digest);
  });

  test('goes straight to the leader once it knows it, and back when the leader is gone', async () => {
    const leader = await startCoordinator();
    const standby = await startCoordinator();
    leader.answer = () => ({ body: { services: bothServices(), nextReportSeconds: 0.2 } });
    standby.answer = () => redirectTo(`${leader.origin}/v1/reports`);
    startAgent([standby]);
    await until(() => expect(leader.taken.length).toBeGreaterThan(3));
    const toStandby = standby.taken.length;
    await until(() => expect(leader.taken.length).toBeGreaterThan(6));
    expect(standby.taken.length).toBe(toStandby);
    standby.answer = () => ({ body: { services: bothServices(), nextReportSeconds: 0.2 } });
    await leader.stop();
    await until(() => expect(standby.taken.length).toBeGreaterThan(toStandby));
    await untilServices(standby, ALL_READY);
  });

  test('uses a new token and a new CA as soon as they are there', async () => {
    const coordinator = await startCoordinator();
    coordinator.answer = () => ({ body: { services: bothServices(), nextReportSeconds: 0.2 } });
    startAgent([coordinator]);
    await until(() => expect(coordinator.last?.authorization).toBe('Bearer token-1'));
    put('token', 'token-2');
    await until(() => expect(coordinator.last?.authorization).toBe('Bearer token-2'));
    const successor = await startCoordinator(SECOND);
    successor.answer = coordinator.answer;
    coordinator.answer = () => redirectTo(`${successor.origin}/v1/reports`);
    put('ca.crt', `${FIRST.ca}${SECOND.ca}`);
    await untilServices(successor, ALL_READY);
  });

  test('probes the target that the coordinator names, and another one when the coordinator changes it', async () => {
    const elsewhere = await listenOnLoopback(createService('tcp'));
    const coordinator = await startCoordinator();
    const target = { host: '127.0.0.1', port: elsewhere.port };
    let services: object[] = [{ name: 'ws-daemon', digest: 'd', probe: { kind: 'tcp' }, target }];
    coordinator.answer = () => ({ body: { nextReportSeconds: 0.2, services } });
    startAgent([coordinator]);
    await until(() => expect(elsewhere.accepted()).toBeGreaterThan(0));
    await elsewhere.close();
    await untilServices(coordinator, { 'ws-daemon': false });
    services = bothServices();
    await untilServices(coordinator, ALL_READY);
  });

  test('goes on probing while its coordinator is away, is healthy, and reports when it comes back', async () => {
    const coordinator = await startCoordinator();
    const agent = startAgent([coordinator]);
    const address = await listenAddress(agent);
    await untilServices(coordinator, ALL_READY);
    await coordinator.stop();
    await registryFacade.close();
    await until(() => expect(agent.lines().map(({ msg }) => msg)).toContain('Could not deliver a report'));
    expect(await httpGet(`http://${address}/healthz`)).toEqual({ status: 200, body: 'ok\n' });
    await until(async () => {
      const { body } = await httpGet(`http://${address}/metrics`);
      expect(body).toMatch(/^rollcall_agent_coordinator_connected 0$/m);
      expect(body).toMatch(/^rollcall_agent_reports_total\{result="failed"\} [1-9]/m);
      expect(body).toMatch(/^rollcall_agent_service_ready\{service="registry-facade"\} 0$/m);
    });
    await coordinator.start();
    await untilServices(coordinator, { ...ALL_READY, 'registry-facade': false });
  });

  test('waits for a token and a CA that are not there yet', async () => {
    const coordinator = await startCoordinator();
    rmSync(path.join(directory, 'token'));
    rmSync(path.join(directory, 'ca.crt'));
    const agent = startAgent([coordinator]);
    await until(() => expect(JSON.stringify(agent.lines())).toContain('CERTIFICATE_INVALID'));
    put('ca.crt', FIRST.ca);
    await until(() => expect(JSON.stringify(agent.lines())).toContain('TOKEN_UNREADABLE'));
    expect(coordinator.taken).toEqual([]);
    put('token', 'token-1');
    await untilServices(coordinator, ALL_READY);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('says goodbye on %s and exits with 0', async (signal) => {
    const coordinator = await startCoordinator();
    const agent = startAgent([coordinator]);
    await untilServices(coordinator, ALL_READY);
    agent.child.kill(signal);
    expect(await agent.exit).toMatchObject({ code: 0 });
    expect(coordinator.last?.report).toMatchObject({ leaving: true, node: 'node-1' });
    expect(coordinator.taken.filter(({ report }) => report.leaving)).toHaveLength(1);
    expect(agent.stderr()).toBe('');
  });

  test('exits with 0 within 5 s when the coordinator hangs', async () => {
    const coordinator = await startCoordinator();
    const agent = startAgent([coordinator]);
    await untilServices(coordinator, ALL_READY);
    coordinator.answer = () => undefined;
    const startMs = performance.now();
    agent.child.kill('SIGTERM');
    expect(await agent.exit).toMatchObject({ code: 0 });
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  test('runs on without a listener', async () => {
    const coordinator = await startCoordinator();
    coordinator.answer = () => ({ body: { services: bothServices(), nextReportSeconds: 0.2 } });
    const agent = startAgent([coordinator], ['--listen=off']);
    await until(() => expect(coordinator.taken.length).toBeGreaterThan(3));
    await coordinator.stop();
    await coordinator.start();
    const before = coordinator.taken.length;
    await until(() => expect(coordinator.taken.length).toBeGreaterThan(before));
    expect(agent.child.exitCode).toBeNull();
  });

  test.runIf(existsSync('/dev/full'))('goes on when its log cannot be written', async () => {
    const coordinator = await startCoordinator();
    const full = openSync('/dev/full', 'w');
    const agent = startAgent([coordinator], [], full);
    closeSync(full);
    await untilServices(coordinator, ALL_READY);
    await wsDaemon.close();
    await untilServices(coordinator, { ...ALL_READY, 'ws-daemon': false });
    agent.child.kill('SIGTERM');
    expect(await agent.exit).toMatchObject({ code: 0 });
  });

  test('goes on when the reader of its log is gone', async () => {
    const coordinator = await startCoordinator();
    const agent = startAgent([coordinator]);
    await untilServices(coordinator, ALL_READY);
    agent.child.stdout?.destroy();
    await wsDaemon.close();
    await untilServices(coordinator, { ...ALL_READY, 'ws-daemon': false });
    agent.child.kill('SIGTERM');
    await until(() => expect(agent.child.exitCode).toBe(0));
  });
});

describe('what the agent is told wrong', () => {
  test.each([
    [['--node-name=n', '--coordinator-url=http://10.0.0.1:8443'], /^rollcall-agent: --coordinator-url: [^\n]+\n$/],
    [[], /^rollcall-agent: --node-name: is required[^\n]+\n$/],
    [['--node-name=n', '--listen=nowhere'], /^rollcall-agent: --listen: [^\n]+\n$/],
  ])('%j ends it with 2 and one line', async (argv, line) => {
    const agent = runAgent(argv);
    expect(await agent.exit).toMatchObject({ code: 2 });
    expect(agent.stderr()).toMatch(line);
    expect(agent.lines()).toEqual([]);
  });

  test('about a port that is taken ends it with 1', async () => {
    const agent = startAgent([{ origin: 'https://127.0.0.1:1' }], [`--listen=127.0.0.1:${wsDaemon.port}`]);
    expect(await agent.exit).toMatchObject({ code: 1 });
    expect(agent.lines()).toMatchObject([{ level: 'fatal', err: { code: 'LISTEN_FAILED' } }]);
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends an agent with 0 that has not yet read its configuration',
  async (signal) => {
    const config = path.join(directory, 'agent.yaml');
    execFileSync('mkfifo', [config]);
    const { child, exit } = runAgent(['--node-name=node-1', `--config=${config}`]);
    // Opens once the agent reads.
    const file = await open(config, 'w');
    child.kill(signal);
    await file.writeFile('apiVersion: rollcall.dev/v1alpha1\nkind: AgentConfiguration\n');
    await file.close();
    expect(await exit).toMatchObject({ code: 0 });
  },
);
