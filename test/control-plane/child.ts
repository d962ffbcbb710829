import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { waitFor } from './wait-for.ts';

export interface ChildOptions {
  readonly args: readonly string[];
  /** Standard output and error are appended to this file; without it `stdio` applies. */
  readonly logFile?: string;
  readonly stdio?: StdioOptions;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

const living = new Set<ChildProcess>();
const doomedDirs = new Set<string>();
let watchesExit = false;
let setprivWorks: boolean | undefined;

/**
 * Starts a process that does not outlive this one: the kernel kills it when this process dies, however it dies (Linux
 * with util-linux), and it is killed when this process exits in an orderly way (everywhere). Where the kernel takes
 * care, it gets a session of its own, so that Ctrl-C in a terminal reaches only us.
 */
export function spawnChild(command: string, options: ChildOptions): ChildProcess {
  const guarded = canSetDeathSignal();
  const log = options.logFile === undefined ? undefined : openSync(options.logFile, 'a');
  const settings = {
    stdio: log === undefined ? (options.stdio ?? 'pipe') : (['ignore', log, log] satisfies StdioOptions),
    detached: guarded,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
  };
  const child = guarded
    ? spawn('setpriv', ['--pdeathsig', 'KILL', command, ...options.args], settings)
    : spawn(command, options.args, settings);
  if (log !== undefined) closeSync(log);
  watchExit();
  living.add(child);
  const forget = () => living.delete(child);
  child.once('exit', forget).once('error', forget);
  return child;
}

/** Has the directory removed when this process exits, unless it is taken back before. */
export function removeDirOnExit(dir: string): () => void {
  watchExit();
  doomedDirs.add(dir);
  return () => doomedDirs.delete(dir);
}

/** Resolves when the process has ended; at once when it has already. */
export function exitOf(child: ChildProcess): Promise<void> {
  if (hasExited(child)) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve());
  });
}

export function hasExited(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Sends a signal, and waits until it has done what it does: that the process stands still, or that it is gone. */
export async function signalChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  if (signal === 'SIGSTOP') await waitFor('the process to stand still', () => standsStill(child), { everyMs: 1 });
  else if (signal !== 'SIGCONT') await exitOf(child);
}

/** Its threads stop one by one, and the last may answer after the signal was sent. Only Linux tells. */
async function standsStill(child: ChildProcess): Promise<boolean> {
  if (process.platform !== 'linux' || hasExited(child)) return true;
  const tasks = `/proc/${child.pid}/task`;
  const stats = await Promise.all((await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/stat`, 'utf8')));
  // The name before the state is in parentheses, and may hold any.
  return stats.every((stat) => stat.slice(stat.lastIndexOf(')') + 2).startsWith('T'));
}

/** Kills without grace (also a process that was stopped) and waits until it is gone. */
export async function killChild(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await exitOf(child);
}

/** The last lines of a log file, indented, for an error message. */
export async function lastLines(file: string, count = 15): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return indentLastLines(text, count);
}

export function indentLastLines(text: string, count = 15): string {
  const lines = text.trimEnd().split('\n').slice(-count);
  return lines.map((line) => `    ${line}`).join('\n');
}

function canSetDeathSignal(): boolean {
  setprivWorks ??=
    process.platform === 'linux' &&
    spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { stdio: 'ignore' }).status === 0;
  return setprivWorks;
}

function watchExit(): void {
  if (watchesExit) return;
  watchesExit = true;
  process.on('exit', () => {
    for (const child of living) child.kill('SIGKILL');
    for (const dir of doomedDirs) rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  });
}
