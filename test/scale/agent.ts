import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReportReply, ServiceToProbe } from '@rollcall/common/report.ts';
import { IMAGE_ENV } from '../../deploy/image/image-env.ts';
import { AGENT_V8_FLAGS } from '../../deploy/source/chart/agent-values.ts';
import { hasExited, killChild, spawnChild } from '../control-plane/child.ts';
import { type StandIn, startStandIn } from '../stand-ins/stand-in.ts';
import { emptyProcess } from './empty-process.ts';
import { type ProcessUsage, processUsage } from './process-usage.ts';
import type { Measure } from './result.ts';

const AGENT = path.resolve(import.meta.dirname, '../../agent/dist/main.js');
/** The facts are read by then, what the start needed is given back, and the services are at rest. */
const SETTLE_MS = 75_000;
const DEVICES = 64;
const SERVICES = 20;
/** A hundred rounds a second, to see within a minute whether memory grows with them. */
const HASTE_MS = 10;

/** `milliCoresMax`: the budget. */
type Situation = {
  name: string;
  sysfsRoot: string;
  services: readonly ServiceToProbe[];
  milliCoresMax?: number;
  periodMs?: number;
};
type Cost = { milliCores: number; after: ProcessUsage; grownMiB: number };

/** What one agent costs its node: with nothing to do, with both services of Gitpod, with many devices, with many services, and in haste. */
export async function benchAgent({ idleSeconds }: { idleSeconds: number }): Promise<Measure[]> {
  const directory = await mkdtemp(path.join(tmpdir(), 'rollcall-bench-'));
  const empty = await emptyProcess();
  const standIns = [await startStandIn('ws-daemon'), await startStandIn('registry-facade')];
  try {
    await writeFile(path.join(directory, 'token'), 'token');
    const bare = await machineWith(path.join(directory, 'bare'), 0);
    const full = await machineWith(path.join(directory, 'full'), DEVICES);
    const two = standIns.map((standIn) => serviceAt(standIn, standIn.kind));
    const twenty = Array.from({ length: SERVICES }, (_, index) =>
      serviceAt(standIns[index % 2] as StandIn, `service-${index}`),
    );
    const situations: Situation[] = [
      { name: 'no services', sysfsRoot: bare, services: [], milliCoresMax: 0.4 },
      { name: '2 services', sysfsRoot: bare, services: two, milliCoresMax: 1 },
      { name: `${DEVICES} PCI devices`, sysfsRoot: full, services: [], milliCoresMax: 0.6 },
      { name: `${SERVICES} services`, sysfsRoot: bare, services: twenty, milliCoresMax: 3 },
      { name: 'in haste', sysfsRoot: bare, services: two, periodMs: HASTE_MS },
    ];
    const measures: Measure[] = [{ what: 'resident memory of an empty process', value: empty.rssMiB, unit: 'MiB' }];
    for (const situation of situations) {
      const cost = await costOf(situation, directory, idleSeconds * 1000);
      measures.push(...measuresOf(situation, cost, empty, idleSeconds));
    }
    return measures;
  } finally {
    await Promise.all(standIns.map((standIn) => standIn.stop()));
    await rm(directory, { recursive: true });
  }
}

function measuresOf(
  { name, periodMs, milliCoresMax }: Situation,
  cost: Cost,
  empty: ProcessUsage,
  seconds: number,
): Measure[] {
  const rounds = (seconds * 1000) / (periodMs ?? 5000);
  const grown: Measure = {
    what: `${name}: growth in ${Math.round(rounds)} rounds`,
    value: cost.grownMiB,
    unit: 'MiB',
  };
  if (periodMs !== undefined) return [grown];
  const isNormal = name === '2 services';
  return [
    {
      what: `${name}: CPU, millicores`,
      value: cost.milliCores,
      unit: '',
      ...(milliCoresMax === undefined ? {} : { atMost: milliCoresMax }),
    },
    {
      what: `${name}: resident memory over the memory of an empty process`,
      value: cost.after.rssMiB / empty.rssMiB,
      unit: '×',
      ...(isNormal ? { atMost: 1.35 } : {}),
    },
    { what: `${name}: resident memory`, value: cost.after.rssMiB, unit: 'MiB' },
    {
      what: `${name}: private memory`,
      value: cost.after.privateMiB,
      unit: 'MiB',
      ...(isNormal ? { atMost: 16 } : {}),
    },
    grown,
  ];
}

/** An agent with the flags of the chart. */
export function spawnAgent(coordinatorUrl: string, root: string, args: readonly string[]): ChildProcess {
  return spawnChild(process.execPath, {
    args: [
      ...AGENT_V8_FLAGS,
      AGENT,
      '--node-name=bench',
      `--coordinator-url=${coordinatorUrl}`,
      `--sysfs-root=${root}`,
      `--procfs-root=${root}`,
      ...args,
    ],
    stdio: 'ignore',
    // biome-ignore lint/style/noProcessEnv: what starts it is found there
    env: { ...IMAGE_ENV, PATH: process.env['PATH'] },
  });
}

async function costOf(situation: Situation, directory: string, lookMs: number): Promise<Cost> {
  const coordinator = await startCoordinator(situation.services);
  const child = spawnAgent(coordinator.origin, situation.sysfsRoot, [
    `--token-file=${path.join(directory, 'token')}`,
    '--listen=127.0.0.1:0',
    ...(situation.periodMs === undefined
      ? []
      : ['period', 'idle-period'].map((time) => `--probe-${time}-ms=${situation.periodMs}`)),
  ]);
  try {
    await sleep(SETTLE_MS);
    const before = await processUsage(child.pid ?? 0);
    await sleep(lookMs);
    const after = await processUsage(child.pid ?? 0);
    if (hasExited(child)) throw new Error(`The agent of "${situation.name}" has ended`);
    const milliCores = ((after.cpuMs - before.cpuMs) / lookMs) * 1000;
    return { milliCores, after, grownMiB: after.rssMiB - before.rssMiB };
  } finally {
    await killChild(child);
    coordinator.close();
  }
}

/** Takes every report and tells what to probe, without TLS: one report in ten seconds over a kept connection. */
export async function startCoordinator(services: readonly ServiceToProbe[]) {
  const reply: ReportReply = { nextReportSeconds: 10, services: [...services] };
  // As long as a coordinator keeps an idle connection: by default, Node.js would end it before the next report.
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify(reply)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** A service as the two of Gitpod are asked, under this name. */
function serviceAt({ kind, host, port }: StandIn, name: string): ServiceToProbe {
  const target = { host, port };
  if (kind === 'ws-daemon') return { name, digest: 'd', target, probe: { kind: 'tcp' } };
  const path = '/v2/remote/not-a-valid-image/manifests/latest';
  return { name, digest: 'd', target, probe: { kind: 'https', path, expectedStatuses: ['404'] } };
}

/** A sysfs with so many devices on PCI; returns its root. */
async function machineWith(root: string, devices: number): Promise<string> {
  await mkdir(path.join(root, 'bus/pci/devices'), { recursive: true });
  for (let index = 0; index < devices; index += 1) {
    const device = path.join(root, 'bus/pci/devices', `0000:${index.toString(16).padStart(2, '0')}:00.0`);
    await mkdir(device);
    const attributes = { class: '0x030200', vendor: '0x10de', device: '0x20b0', subsystem_vendor: '0x10de' };
    for (const [name, value] of Object.entries({ ...attributes, subsystem_device: '0x1463', revision: '0xa1' })) {
      await writeFile(path.join(device, name), `${value}\n`);
    }
  }
  return root;
}
