import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FullReport, ServiceReport } from '@rollcall/common/report.ts';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { httpGet, listenAddress, startAgentProcess, until } from './main.test-fixtures.ts';
import { createGrpcServer } from './probes/testing/grpc-server.ts';
import { type HungMount, mayMountHung, mountHung } from './probes/testing/hung-mount.ts';
import { listenOnLoopback } from './probes/testing/servers.ts';
import { TestCoordinator } from './report/testing/coordinator.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Starts an agent with these flags beside those that every agent needs, and a coordinator that gives it this reply. */
async function agentOf(directory: string, reply: object, flags: string[]) {
  const coordinator = await new TestCoordinator().start();
  onTestFinished(() => coordinator.stop());
  coordinator.answer = () => ({ body: { nextReportSeconds: 1, ...reply } });
  writeFileSync(path.join(directory, 'token'), 'token');
  const agent = startAgentProcess([
    '--node-name=node-1',
    `--coordinator-url=${coordinator.origin}`,
    `--token-file=${path.join(directory, 'token')}`,
    `--sysfs-root=${directory}`,
    `--procfs-root=${directory}`,
    ...flags,
  ]);
  onTestFinished(async () => {
    agent.child.kill('SIGKILL');
    await agent.exit;
  });
  return { agent, coordinator };
}

/** A directory of this test, and one on a mount that hangs. */
function directories(): { directory: string; hung: HungMount } {
  const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-agent-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const hung = mountHung();
  if (!hung) throw new Error('no file system can be mounted');
  onTestFinished(hung.end);
  return { directory, hung };
}

describe.runIf(mayMountHung())('an agent with four probes on a mount that hangs', () => {
  test('goes on seeing a CSI socket on another, says which path hangs, and withdraws nothing that it did not ask', async () => {
    const { directory, hung } = directories();
    const at = hung.directory;
    const socket = path.join(directory, 'csi.sock');
    const driver = createGrpcServer({ '/csi.v1.Identity/Probe': () => new Uint8Array(0) });
    const running = await listenOnLoopback(driver, { file: socket });
    onTestFinished(running.close);
    const files = ['a', 'b', 'c', 'd'].map((name) => ({
      name,
      digest: 'd',
      probe: { kind: 'file', path: path.join(at, name) },
      timeoutMilliseconds: 200,
    }));
    const services = [...files, { name: 'csi', digest: 'd', probe: { kind: 'csi', socket } }];
    const flags = ['--listen=off', `--probe-paths=${directory},${at}`];
    const { coordinator } = await agentOf(directory, { services }, flags);
    const said = (name: string): ServiceReport | undefined =>
      coordinator.taken
        .flatMap(({ report }) => (report as FullReport).services ?? [])
        .findLast((service) => service.name === name);
    await until(() => expect(said('csi')).toMatchObject({ ready: true }));
    const evidence = () => files.map(({ name }) => said(name)?.evidence.replace(`file ${at}/${name} `, ''));
    await until(() => {
      expect(evidence().filter((text) => text === 'did not answer within 200 ms')).toHaveLength(1);
      expect(evidence().filter((text) => /^was not checked: .* did not answer$/.test(text ?? ''))).toHaveLength(3);
    });
    expect(files.filter(({ name }) => said(name)?.unknown)).toHaveLength(3);
    expect(said('csi')).toMatchObject({ ready: true });
  });
});

describe.runIf(mayMountHung())('an agent whose features directory hangs', () => {
  test('answers the other questions, leaves what waits for it unknown, goes on reporting, is healthy, and stops', async () => {
    const { directory, hung } = directories();
    mkdirSync(path.join(directory, 'module/apex'), { recursive: true });
    const questions = ['module:apex', 'nfd:local.feature.slots'];
    const flags = ['--listen=127.0.0.1:0', `--features-dir=${hung.directory}`, `--probe-paths=${hung.directory}`];
    const services = [{ name: 'a', digest: 'd', probe: { kind: 'file', path: path.join(hung.directory, 'a') } }];
    const { agent, coordinator } = await agentOf(directory, { questions, services }, flags);
    const reports = () => coordinator.taken.map(({ report }) => report as FullReport);
    await until(() => expect(reports().findLast(({ answers }) => answers)?.answers).toEqual({ 'module:apex': true }));
    const evidence = `file ${hung.directory}/a was not checked: ${hung.directory} did not answer`;
    const service = () => reports().findLast(({ services }) => services?.length)?.services[0];
    await until(() => expect(service()).toMatchObject({ unknown: true, evidence }));
    const before = coordinator.taken.length;
    await until(() => expect(coordinator.taken.length).toBeGreaterThan(before + 3));
    expect(await httpGet(`http://${await listenAddress(agent)}/healthz`)).toMatchObject({ status: 200 });
    agent.child.kill('SIGTERM');
    expect(await agent.exit).toMatchObject({ code: 0 });
  });
});
