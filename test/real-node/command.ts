import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const outputMaxBytes = 64 * 1024 * 1024;

/** Where the commands of an administrator are; the PATH of a test may lack the half of them. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Runs a command to its end and returns its standard output. @throws with what it said on standard error. */
export async function run(command: string, args: readonly string[], options: { stdin?: string } = {}): Promise<string> {
  const running = execute(command, args, { env: { PATH: systemPath }, maxBuffer: outputMaxBytes });
  running.child.stdin?.on('error', () => {}).end(options.stdin);
  try {
    return (await running).stdout;
  } catch (error) {
    const { code, stderr } = error as { code?: number | string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr?.trim()}`, { cause: error });
  }
}

/** Runs several lines of shell, of which each must end well. */
export function runShell(script: string): Promise<string> {
  return run('sh', ['-ec', script]);
}

/** The path of a system's command. */
export async function findCommand(name: string): Promise<string | undefined> {
  for (const dir of systemPath.split(':')) if (await isExecutable(join(dir, name))) return join(dir, name);
  return undefined;
}

export function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
