import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { indentLastLines } from './child.ts';
import type { Environment } from './environment.ts';
import { withFileLock } from './file-lock.ts';
import { showProgress } from './progress.ts';
import { run } from './run.ts';

/** A program of a Go module of its own, and where it is kept. */
export type BuiltTool = {
  /** With its version, for people. */
  name: string;
  file: string;
  isThere: () => Promise<boolean>;
};

export type BuiltPackage = { dir: string; package: string; linkerFlags: string };

/** Builds a program with Go where it is not there yet, once however many ask. @throws with what Go said. */
export async function buildOnce(tool: BuiltTool, built: BuiltPackage, environment: Environment): Promise<void> {
  const { name, file, isThere } = tool;
  if (await isThere()) return;
  const folder = dirname(file);
  await mkdir(folder, { recursive: true });
  const progress = showProgress(process.stderr, `${name}: building with Go, which takes some minutes the first time`);
  await withFileLock(join(folder, 'lock'), async () => {
    if (await isThere()) return;
    const temporary = `${file}-${process.pid}`;
    const args = ['build', '-trimpath', '-ldflags', built.linkerFlags, '-o', temporary, built.package];
    const env = { ...environment.variables, CGO_ENABLED: '0' };
    const { code, err } = await run(environment.goCommand, args, env, { cwd: built.dir });
    if (code !== 0) {
      await rm(temporary, { force: true });
      throw new Error(`${name} is not to be had, and go build ended with ${code}:\n${indentLastLines(err)}`);
    }
    await rename(temporary, file);
  }).finally(() => progress.end());
}
