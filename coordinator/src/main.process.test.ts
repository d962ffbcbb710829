import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
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
