import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FullReport, ServiceReport } from '@rollcall/common/report.ts';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startAgentProcess, until } from './main.test-fixtures.ts';
import { createGrpcServer } from './probes/testing/grpc-server.ts';
import { mayMountHung, mountHung } from './probes/testing/hung-mount.ts';
import { listenOnLoopback } from './probes/testing/servers.ts';
import { TestCoordinator } from './report/testing/coordinator.ts';

vi.setConfig({ testTimeout: 60_000 });

/** An agent that is told to probe these, and what it last said of each. */
async function agentOf(directory: string, services: object[], probePaths: string[]) {
  const coordinator = await new TestCoordinator().start();
  onTestFinished(() => coordinator.stop());
  coordinator.answer = () => ({ body: { nextReportSeconds: 2, services } });
  writeFileSync(path.join(directory, 'token'), 'token');
  const { child, exit } = startAgentProcess([
    '--node-name=node-1',
    `--coordinator-url=${coordinator.origin}`,
    `--token-file=${path.join(directory, 'token')}`,
    '--listen=off',
    `--sysfs-root=${directory}`,
    `--procfs-root=${directory}`,
    `--probe-paths=${probePaths.join()}`,
  ]);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return (name: string): ServiceReport | undefined =>
    coordinator.taken
      .flatMap(({ report }) => (report as FullReport).services ?? [])
      .findLast((service) => service.name === name);
}

describe.runIf(mayMountHung())('an agent with four probes on a mount that hangs', () => {
  test('goes on seeing a CSI socket on another, says which path hangs, and withdraws nothing that it did not ask', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-agent-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const hung = mountHung();
    if (hung) onTestFinished(hung.end);
    const at = hung?.directory ?? '';
    const socket = path.join(directory, 'csi.sock');
    const driver = createGrpcServer({ '/csi.v1.Identity/Probe': () => new Uint8Array(0) });
    const running = await listenOnLoopback(driver, { file: socket });
    onTestFinished(running.close);
    const files = ['a', 'b', 'c', 'd'].map((name) => ({
      name,
      probe: { kind: 'file', path: path.join(at, name) },
      timeoutMilliseconds: 200,
    }));
    const said = await agentOf(directory, [...files, { name: 'csi', probe: { kind: 'csi', socket } }], [directory, at]);
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
