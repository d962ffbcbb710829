import { spawn, spawnSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FIRST } from '@rollcall/agent/report/testing/certificates.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, '../../../agent/src/main.ts');
/** A loopback address of this process alone, since the DNS port is the same for all processes. */
const SILENT = `127.77.${(process.pid >> 8) % 256}.${(process.pid % 254) + 1}`;
/** Whether a pod's resolv.conf can be mounted over this machine's file, for the agent alone. */
const canBind = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

describe.runIf(canBind)('a DNS server that does not answer', () => {
  let directory: string;
  let server: Socket;
  let questions = 0;

  beforeEach(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'rollcall-dns-'));
    questions = 0;
    server = createSocket('udp4', () => {
      questions += 1;
    });
    await new Promise<void>((resolve) => server.bind(53, SILENT, resolve));
  });

  afterEach(() => {
    server.close();
    rmSync(directory, { recursive: true });
  });

  test('does not keep an agent that waits for it from exiting within 5 s', async () => {
    const resolvConf = path.join(directory, 'resolv.conf');
    const search = 'search rollcall.svc.cluster.local svc.cluster.local cluster.local';
    writeFileSync(resolvConf, `${search}\nnameserver ${SILENT}\noptions ndots:5\n`);
    writeFileSync(path.join(directory, 'token'), 'token');
    writeFileSync(path.join(directory, 'ca.crt'), FIRST.ca);
    const argv = [
      '--node-name=node-1',
      '--coordinator-url=https://rollcall-coordinator.rollcall.svc:8443',
      `--coordinator-ca-file=${path.join(directory, 'ca.crt')}`,
      `--token-file=${path.join(directory, 'token')}`,
      '--listen=off',
    ];
    const script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"';
    const child = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', resolvConf, process.execPath, MAIN, ...argv], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const exit = new Promise<number | null>((resolve) => child.on('close', resolve));
    try {
      await vi.waitFor(() => expect(questions).toBeGreaterThan(0), { timeout: 15_000 });
      const startMs = performance.now();
      child.kill('SIGTERM');
      expect(await exit).toBe(0);
      expect(performance.now() - startMs).toBeLessThan(5000);
    } finally {
      child.kill('SIGKILL');
      await exit;
    }
  });
});
