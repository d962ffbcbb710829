import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createService, listenOnLoopback, type RunningServer } from '@rollcall/agent/probes/testing/servers.ts';
import { FIRST, SERVER_NAME } from '@rollcall/agent/report/testing/certificates.ts';
import { TestCoordinator } from '@rollcall/agent/report/testing/coordinator.ts';
import type { FullReport, ServiceToProbe } from '@rollcall/common/report.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bundlePrograms } from '../../../build.ts';
import { AGENT_V8_FLAGS } from '../../../deploy/source/chart/agent-values.ts';

const RATIO_MAX = 1.35;
const PRIVATE_MIB_MAX = 18;
const SAMPLES = 5;
const LIMIT = { timeout: 40_000, interval: 100 };

let directory: string;
let children: ChildProcess[];
const closers: (() => Promise<void>)[] = [];

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-footprint-'));
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const close of closers.splice(0)) await close();
  rmSync(directory, { recursive: true });
});

function put(name: string, content: string | Uint8Array): string {
  const file = path.join(directory, name);
  writeFileSync(file, content);
  return file;
}

function run(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: {} });
  children.push(child);
  return child;
}

/** In MiB. */
function memoryOf({ pid }: ChildProcess): { rss: number; private: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) / 1024;
  return { rss: mib('Rss'), private: mib('Private_Clean') + mib('Private_Dirty') };
}

/** The least of some: what is there between two collections of garbage counts. */
async function settledMemory(child: ChildProcess, isAtWork: () => void) {
  const samples: ReturnType<typeof memoryOf>[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    await vi.waitFor(isAtWork, LIMIT);
    samples.push(memoryOf(child));
  }
  return samples.reduce((least, sample) => (sample.rss < least.rss ? sample : least));
}

async function startAgent(more: ServiceToProbe[]): Promise<{ child: ChildProcess; coordinator: TestCoordinator }> {
  for (const { path: file, contents } of (await bundlePrograms()).files) {
    if (file.startsWith('agent/dist/')) put(path.basename(file), contents);
  }
  // An ES module, as in the image.
  put('package.json', '{"type":"module"}');
  const coordinator = await new TestCoordinator(FIRST).start();
  const wsDaemon = await listenOnLoopback(createService('tcp'));
  const registryFacade = await listenOnLoopback(createService('https'));
  closers.push(() => coordinator.stop(), wsDaemon.close, registryFacade.close);
  const at = ({ host, port }: RunningServer) => ({ digest: 'd', target: { host, port } });
  const services: ServiceToProbe[] = [
    { name: 'ws-daemon', probe: { kind: 'tcp' }, ...at(wsDaemon) },
    { name: 'registry-facade', probe: { kind: 'https', expectedStatuses: ['404'] }, ...at(registryFacade) },
    ...more,
  ];
  coordinator.answer = () => ({ body: { nextReportSeconds: 1, services } });
  const child = run([
    ...AGENT_V8_FLAGS,
    path.join(directory, 'main.js'),
    '--node-name=n',
    '--listen=127.0.0.1:0',
    `--coordinator-url=${coordinator.origin}`,
    `--coordinator-ca-file=${put('ca.crt', FIRST.ca)}`,
    `--coordinator-server-name=${SERVER_NAME}`,
    `--token-file=${put('token', 'token')}`,
  ]);
  return { child, coordinator };
}

describe.runIf(process.platform === 'linux')('an agent at work, with the flags of the chart', () => {
  async function memoryAtWork(more: ServiceToProbe[] = []) {
    const { child, coordinator } = await startAgent(more);
    const names = ['ws-daemon', 'registry-facade', ...more.map(({ name }) => name)];
    let reports = 0;
    return settledMemory(child, () => {
      const seen = coordinator.taken.flatMap(({ report }) => (report as FullReport).services ?? []);
      for (const name of names) expect(seen).toContainEqual(expect.objectContaining({ name, ready: true }));
      expect(coordinator.taken.length).toBeGreaterThan(reports + 3);
      reports = coordinator.taken.length;
    });
  }

  test(`takes at most ${RATIO_MAX} times the memory of an empty program of the same Node.js`, async () => {
    const empty = run([put('empty.js', 'setInterval(() => {}, 2 ** 30);')]);
    const settled = await memoryAtWork();
    expect(settled.rss / memoryOf(empty).rss).toBeLessThan(RATIO_MAX);
    expect(settled.private).toBeLessThan(PRIVATE_MIB_MAX);
  });

  test(`keeps below ${PRIVATE_MIB_MAX} MiB of its own when it also asks by gRPC`, async () => {
    const { host, port, close } = await listenOnLoopback(createService('grpc'));
    closers.push(close);
    const { private: own } = await memoryAtWork([
      { name: 'x', digest: 'd', probe: { kind: 'grpc' }, target: { host, port } },
    ]);
    expect(own).toBeLessThan(PRIVATE_MIB_MAX);
  });
});
