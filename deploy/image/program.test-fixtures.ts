import { spawnSync } from 'node:child_process';

/** Runs a program of this room to its end. */
export function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { env, encoding: 'utf8' });
  return { status, stdout, stderr: stderr.trim() };
}
