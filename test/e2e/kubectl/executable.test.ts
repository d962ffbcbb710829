import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { buildExecutable } from '../../../packages/kubectl-rollcall/executable/build-executable.ts';

let dir: string | undefined;
afterAll(async () => {
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
});

test('the plugin runs as one executable file, without Node.js beside it', async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'kubectl-rollcall-'));
  const file = path.join(dir, 'kubectl-rollcall');
  await buildExecutable(file);
  const run = (...args: string[]) =>
    new Promise<{ exitCode: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(file, args, { env: {} }, (error, stdout, stderr) =>
        resolve({ exitCode: error ? error.code : 0, stdout, stderr }),
      );
    });
  const help = await run('why', '--help');
  expect(help).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Usage: kubectl rollcall why') });
  const closed = await run('status', '--console-url=http://127.0.0.1:9');
  expect(closed).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('The console does not answer') });
}, 120_000);
