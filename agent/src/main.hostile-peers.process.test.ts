import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FullReport, ServiceReport } from '@rollcall/common/report.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { httpGet, listenAddress, startAgentProcess, until } from './main.test-fixtures.ts';
import { ROOT_CERTIFICATE } from './probes/testing/certificates.ts';
import { createRawServer, createService, listenOnLoopback, type RunningServer } from './probes/testing/servers.ts';
import { TestCoordinator } from './report/testing/coordinator.ts';

// Each watches a process for some seconds.
vi.setConfig({ testTimeout: 60_000 });

const WATCHED_MS = 6000;

/** A service that answers 200, beside those that a test is about. */
async function honest(): Promise<RunningServer> {
  const running = await listenOnLoopback(createServer((_request, response) => response.writeHead(200).end('ok')));
  onTestFinished(running.close);
  return running;
}

/** Starts an agent that is given these services and an honest one, and watches it for some seconds. */
async function watchAgent(
  directory: string,
  services: () => readonly object[],
  flags: readonly string[] = [],
  more: object = {},
) {
  const coordinator = await new TestCoordinator().start();
  onTestFinished(() => coordinator.stop());
  const { host, port } = await honest();
  const http = { name: 'honest', digest: 'd', probe: { kind: 'http' }, target: { host, port } };
  coordinator.answer = () => ({ body: { nextReportSeconds: 0.5, services: [...services(), http], ...more } });
  writeFileSync(path.join(directory, 'token'), 'token');
  const argv = [
    '--node-name=node-1',
    `--coordinator-url=${coordinator.origin}`,
    `--token-file=${path.join(directory, 'token')}`,
    '--listen=127.0.0.1:0',
    `--sysfs-root=${directory}`,
    `--procfs-root=${directory}`,
    ...flags,
  ];
  const agent = startAgentProcess(argv);
  let hasEnded = false;
  void agent.exit.then(() => {
    hasEnded = true;
  });
  onTestFinished(async () => {
    agent.child.kill('SIGKILL');
    await agent.exit;
  });
  const said = (name: string): ServiceReport[] =>
    coordinator.taken
      .flatMap(({ report }) => (report as FullReport).services ?? [])
      .filter((service) => service.name === name);
  await until(() => expect(said('honest').at(-1)).toMatchObject({ ready: true }));
  const url = `http://${await listenAddress(agent)}/healthz`;
  const cpuMs = () => cpuMsOf(agent.child.pid ?? 0);
  const beginMs = performance.now();
  const cpuBeginMs = cpuMs();
  let slowestMs = 0;
  while (performance.now() - beginMs < WATCHED_MS && !hasEnded) {
    const askedMs = performance.now();
    expect((await httpGet(url)).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - askedMs);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect([hasEnded, agent.stderr()]).toEqual([false, '']);
  const share = (cpuMs() - cpuBeginMs) / (performance.now() - beginMs);
  return { said, slowestMs, share };
}

/** CPU time of a process so far; a tick of the kernel is 10 ms. */
function cpuMsOf(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? [];
  return (Number(user) + Number(system)) * 10;
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-agent-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** Part of a block of headers that does not end. */
const fields = (bytes: number) => Buffer.alloc(bytes, Buffer.from([0, 1, 0x61, 1, 0x62]));

test('an agent lives on beside gRPC services that send headers without end, which are not ready, with a reason', async () => {
  const bytes = Buffer.concat([
    frame(4, 0, 0, Buffer.alloc(0)),
    frame(1, 0, 1, fields(4096)),
    frame(9, 0, 1, fields(16_384)),
  ]);
  const server = await listenOnLoopback(
    createRawServer((socket) => socket.once('data', () => socket.write(bytes, () => socket.destroy()))),
  );
  onTestFinished(server.close);
  const names = ['a', 'b', 'c', 'd'];
  const grpc = names.map((name) => ({
    name,
    digest: 'd',
    probe: { kind: 'grpc' },
    periodMilliseconds: 100,
    target: { host: '127.0.0.1', port: server.port },
  }));
  const { said } = await watchAgent(temporaryDirectory(), () => grpc);
  for (const name of names) {
    expect(said(name).at(-1)).toMatchObject({
      ready: false,
      evidence: `grpc 127.0.0.1:${server.port} answered with more than 8192 bytes of headers`,
    });
  }
  expect(said('honest').filter(({ ready, unknown }) => !ready && !unknown)).toEqual([]);
});

test('128 file checks at the default period leave /healthz fast, and an honest service ready', async () => {
  const directory = temporaryDirectory();
  const files = Array.from({ length: 128 }, (_, index) => ({
    name: `file-${index}`,
    digest: 'd',
    probe: { kind: 'file', path: path.join(directory, 'token') },
  }));
  const { said, slowestMs, share } = await watchAgent(directory, () => files, [`--probe-paths=${directory}`]);
  for (const { name } of files) expect(said(name).at(-1)).toMatchObject({ ready: true });
  expect(said('honest').filter(({ ready, unknown }) => !ready && !unknown)).toEqual([]);
  expect(slowestMs).toBeLessThan(500);
  expect(share).toBeLessThan(0.35);
});

test('195 https checks with a CA bundle, all edited once a second, leave /healthz fast, and an honest service ready', async () => {
  const server = await listenOnLoopback(createService('https'));
  onTestFinished(server.close);
  const checks = () =>
    Array.from({ length: 195 }, (_, index) => ({
      name: `https-${index}`,
      digest: 'd',
      probe: { kind: 'https', path: `/${Math.floor(performance.now() / 1000)}`, expectedStatuses: ['404'] },
      caBundle: 'bundle',
      target: { host: '127.0.0.1', port: server.port },
      periodMilliseconds: 4000,
    }));
  const { said, slowestMs } = await watchAgent(temporaryDirectory(), checks, [], {
    caBundles: { bundle: ROOT_CERTIFICATE },
  });
  expect(server.accepted()).toBeGreaterThan(195);
  expect(said('honest').filter(({ ready, unknown }) => !ready && !unknown)).toEqual([]);
  expect(slowestMs).toBeLessThan(500);
});
