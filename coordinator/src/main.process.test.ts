import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';

test.each([
  ['SIGTERM', 0, []],
  ['SIGINT', 0, []],
  // What it was to remove is there.
  ['SIGTERM', 1, ['--prune']],
] as const)(
  '%s ends a coordinator with %i that has not yet read its configuration: %j',
  async (signal, exitCode, args) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-coordinator-'));
    const config = path.join(directory, 'coordinator.yaml');
    execFileSync('mkfifo', [config]);
    const main = path.join(import.meta.dirname, 'main.ts');
    const child = spawn(process.execPath, [main, `--config=${config}`, '--master=http://127.0.0.1:1', ...args], {
      stdio: 'ignore',
    });
    const exit = once(child, 'exit');
    // Opens once the coordinator reads.
    const file = await open(config, 'w');
    child.kill(signal);
    await file.writeFile('apiVersion: rollcall.dev/v1alpha1\nkind: CoordinatorConfiguration\n');
    await file.close();
    expect(await exit).toEqual([exitCode, null]);
    rmSync(directory, { recursive: true });
  },
);

test.each([
  ['--master', ['--master=http://192.0.2.1:8080'], {}],
  ['--kubeconfig', ['--kubeconfig=kubeconfig'], {}],
  ['KUBECONFIG', [], { KUBECONFIG: 'kubeconfig' }],
])(
  'a coordinator that would send its token in clear text ends with 2 and one line, which names %s',
  (field, args, env) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-coordinator-'));
    const kubeconfig = {
      clusters: [{ name: 'k', cluster: { server: 'http://192.0.2.1:8080' } }],
      users: [{ name: 'k', user: { token: 'a secret' } }],
      contexts: [{ name: 'k', context: { cluster: 'k', user: 'k' } }],
      'current-context': 'k',
    };
    writeFileSync(path.join(directory, 'kubeconfig'), JSON.stringify(kubeconfig));
    const main = path.join(import.meta.dirname, 'main.ts');
    // A coordinator that starts would run until it is told to end.
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
      cwd: directory,
      env: { PATH: '', ...env },
      encoding: 'utf8',
      timeout: 30_000,
    });
    rmSync(directory, { recursive: true });
    const problem =
      '"http://192.0.2.1:8080" would get credentials in clear text; http:// is for loopback addresses only';
    expect([status, stdout, stderr]).toEqual([2, '', `rollcall-coordinator: ${field}: ${problem}\n`]);
  },
);
