import { exitOf, spawnChild } from './child.ts';

/** How a command ended, and what it printed. */
export type Outcome = { code: number | NodeJS.Signals | null; out: string; err: string };

/** Runs a command to its end. What cannot be started ends with a code other than 0. */
export async function run(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { cwd, stdin }: { cwd?: string; stdin?: string } = {},
): Promise<Outcome> {
  const child = spawnChild(command, {
    args,
    env,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  const outcome = { out: '', err: '' };
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    outcome.out += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    outcome.err += chunk;
  });
  child.stdin?.on('error', () => {}).end(stdin);
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  await exitOf(child);
  if (child.pid !== undefined) await closed;
  return { code: child.signalCode ?? child.exitCode, ...outcome };
}
