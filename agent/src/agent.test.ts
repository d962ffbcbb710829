import { Socket } from 'node:net';
import { HealthChecks } from '@rollcall/common/health.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { FullReport } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Agent, createAgent } from './agent.ts';
import { registerAgentMetrics } from './metrics.ts';
import type { Delivery, RenderReport } from './report/coordinator-client.ts';

const URL_OF_COORDINATOR = 'https://coordinator:8443';
const TARGET = { host: '127.0.0.1', port: 9 };
const TOLD = { name: 'cache', digest: 'd', probe: { kind: 'tcp' }, target: TARGET };

let clock: FakeClock;
let lifetime: AbortController;
let health: HealthChecks;
let readiness: HealthChecks;
let reports: FullReport[];
/** What the coordinator answers to each report. */
let answer: () => Partial<Delivery['reply']> | Promise<never>;
let sockets: Socket[];
let machine: { facts: Record<string, string>; asked: (readonly string[])[]; starts: number; onChange: () => void };
let agent: Agent;

beforeEach(() => {
  clock = new FakeClock();
  lifetime = new AbortController();
  health = new HealthChecks();
  readiness = new HealthChecks();
  reports = [];
  answer = () => ({ nextReportSeconds: 600 });
  sockets = [];
  machine = { facts: {}, asked: [], starts: 0, onChange: () => {} };
  agent = createAgent({
    config: {
      nodeName: 'node-1',
      hostIp: '127.0.0.1',
      coordinatorUrl: [URL_OF_COORDINATOR],
      heartbeatSeconds: 10,
      probePeriodMs: 1000,
      probeIdlePeriodMs: 5000,
      probeTimeoutMs: 1000,
      failureThreshold: 3,
      successThreshold: 1,
      probePaths: [],
    },
    newBoot: () => 'boot-1',
    clock,
    random: () => 0,
    logger: silentLogger(),
    metrics: registerAgentMetrics(new Registry()),
    health,
    readiness,
    signal: lifetime.signal,
    client: { deliver },
    machine: (onChange) => {
      machine.onChange = onChange;
      return {
        observe: () => ({ devices: [], unread: [], facts: machine.facts, answers: {}, values: {} }),
        ask: (questions) => machine.asked.push(questions),
        start: () => {
          machine.starts += 1;
        },
      };
    },
    // Connects when the test triggers it.
    connect: () => {
      const socket = new Socket();
      sockets.push(socket);
      return socket;
    },
  });
});

afterEach(async () => {
  lifetime.abort();
  await clock.advance(5000);
});

async function deliver(origin: string, render: RenderReport): Promise<Delivery> {
  reports.push(JSON.parse(render(origin)) as FullReport);
  return { origin, reply: { full: false, ...(await answer()) } };
}

async function begin(ownPort = Number.NaN) {
  agent.start(ownPort);
  await clock.advance(0);
}

async function connectAll() {
  for (const socket of sockets) socket.emit('connect');
  await clock.advance(0);
}

describe('an agent', () => {
  test('looks at its machine when it starts, and reports who it is and what it saw', async () => {
    machine.facts = { cpu: 'amd64' };
    expect(machine.starts).toBe(0);
    await begin();
    expect(machine.starts).toBe(1);
    expect(reports).toMatchObject([
      { node: 'node-1', boot: 'boot-1', sequence: 1, version: VERSION, services: [], facts: { cpu: 'amd64' } },
    ]);
    expect(reports[0]).not.toHaveProperty('servicesDigest');
  });

  test('reports a change of the machine at once', async () => {
    await begin();
    machine.facts = { cpu: 'arm64' };
    machine.onChange();
    await clock.advance(0);
    expect(reports.map(({ facts }) => facts)).toEqual([{}, { cpu: 'arm64' }]);
  });

  test('probes what the reply tells, and reports that it is ready', async () => {
    answer = () => ({ nextReportSeconds: 600, services: [TOLD] });
    await begin();
    expect(sockets).toHaveLength(1);
    await connectAll();
    expect(reports.at(-1)?.services).toMatchObject([{ name: 'cache', ready: true }]);
  });

  test('probes nothing before a coordinator has told it what', async () => {
    answer = () => Promise.reject(new Error('Away'));
    await begin();
    await clock.advance(60_000);
    expect(sockets).toEqual([]);
    expect(reports[0]?.services).toEqual([]);
  });

  test('probes nothing at its own port', async () => {
    answer = () => ({ nextReportSeconds: 600, services: [TOLD] });
    await begin(TARGET.port);
    expect(sockets).toEqual([]);
    expect(reports.at(-1)?.services).toMatchObject([{ name: 'cache', ready: false }]);
  });

  test('asks the machine what the reply asks, or nothing any more', async () => {
    const questions = ['module:kvm'];
    answer = () => ({ nextReportSeconds: 10, questions });
    await begin();
    expect(machine.asked).toEqual([questions]);
    answer = () => ({ nextReportSeconds: 600 });
    await clock.advance(10_000);
    expect(machine.asked).toEqual([questions, []]);
  });

  test('says goodbye when it stops', async () => {
    await begin();
    lifetime.abort();
    const stopped = agent.stop();
    await clock.advance(0);
    await stopped;
    expect(reports.map(({ leaving }) => leaving)).toEqual([undefined, true]);
  });
});

describe('the readiness of an agent', () => {
  const ready = (name: string) => readiness.evaluate(name);

  test('waits for the first report that is accepted', async () => {
    answer = () => Promise.reject(new Error('Away'));
    await begin();
    expect(ready('first-report')).toEqual({
      healthy: false,
      report: '[-]first-report failed: no coordinator has accepted a report yet',
    });
    answer = () => ({ nextReportSeconds: 600 });
    await clock.advance(1000);
    expect(ready('first-report')?.healthy).toBe(true);
  });

  test('waits for the list of services, and for a probe of each of them', async () => {
    await clock.advance(0);
    expect(ready('first-probe-round')?.report).toMatch(/no coordinator has sent the list of services yet$/);
    answer = () => ({ nextReportSeconds: 600, services: [TOLD, { ...TOLD, name: 'store' }] });
    await begin();
    expect(ready('first-probe-round')?.report).toMatch(/not yet probed: cache, store$/);
    await connectAll();
    expect(ready('first-probe-round')?.healthy).toBe(true);
  });

  test('stays when a service comes later', async () => {
    answer = () => ({ nextReportSeconds: 10, services: [] });
    await begin();
    expect(ready('first-probe-round')?.healthy).toBe(true);
    answer = () => ({ nextReportSeconds: 600, services: [TOLD] });
    await clock.advance(10_000);
    expect(reports.at(-1)?.services).toMatchObject([{ name: 'cache', unknown: true }]);
    expect(ready('first-probe-round')?.healthy).toBe(true);
  });
});

describe('the health of an agent', () => {
  test('is good while there is nothing to report', async () => {
    await begin();
    await clock.advance(300_000);
    expect(health.evaluate('reporter')?.healthy).toBe(true);
  });

  test('is bad when the reporter has not come round for more than half a minute', async () => {
    answer = () => new Promise<never>(() => {});
    await begin();
    await clock.advance(30_000);
    expect(health.evaluate('reporter')?.healthy).toBe(true);
    await clock.advance(1000);
    expect(health.evaluate('reporter')).toMatchObject({ healthy: false });
  });
});
