import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '@rollcall/common/clock.ts';

export type BoundedRunOptions = {
  command: string;
  args: readonly string[];
  limitMs: number;
  /** In characters. A run that prints more is ended. */
  outputMax: number;
  clock: Clock;
  signal: AbortSignal;
};

export type BoundedRun = {
  /** What it printed, once it ended with 0. Rejects with the reason otherwise, at the time limit at the latest. */
  output: Promise<string>;
  /** When the process is gone, which the kernel can delay beyond any limit (a process that waits for a device). */
  gone: Promise<void>;
};

const STDERR_MAX = 1000;

/** All that the process gets to know: where the helpers are, and nothing of this process, such as NODE_OPTIONS. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/**
 * Runs a program that is ended, with all that it started, when it takes too long, prints too much, or the signal
 * aborts. Throws when the process cannot even be tried.
 */
export function runBounded({ command, args, limitMs, outputMax, clock, signal }: BoundedRunOptions): BoundedRun {
  const output = Promise.withResolvers<string>();
  const gone = Promise.withResolvers<void>();
  // A process group of its own can be killed as a whole; helpers would otherwise outlive the child.
  const child: ChildProcess = spawn(command, args, {
    cwd: '/',
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let stdout = '';
  let stderr = '';
  // First of all: without a listener, this event ends the agent.
  child.on('error', (err) => {
    output.reject(err);
    // Without a process there is no 'close'.
    if (child.pid === undefined) finish();
  });

  const end = (reason: string) => {
    output.reject(new Error(reason));
    cancelLimit();
    if (child.exitCode === null && child.signalCode === null) killGroup(child.pid);
  };
  const onAbort = () => end('Stopped with the agent');
  const cancelLimit = clock.after(limitMs, () => end(`Took more than ${limitMs} ms`));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();

  // Where no file descriptor is left, there is neither a process nor a pipe.
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    if (stdout.length + chunk.length > outputMax) end(`Printed more than ${outputMax} characters`);
    else stdout += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(0, STDERR_MAX);
  });
  // What it left behind would hold the pipes open.
  child.on('exit', () => killGroup(child.pid));
  child.on('close', (code, killedBy) => {
    if (code === 0) output.resolve(stdout);
    else output.reject(new Error(`Ended with ${code ?? killedBy}: ${stderr.trim()}`));
    finish();
  });

  function finish(): void {
    cancelLimit();
    signal.removeEventListener('abort', onAbort);
    gone.resolve();
  }

  return { output: output.promise, gone: gone.promise };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}
