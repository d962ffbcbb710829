import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { IMAGE_ENV } from '../../deploy/image/image-env.ts';
import { killChild, signalChild, spawnChild } from '../control-plane/child.ts';
import { waitFor } from '../control-plane/wait-for.ts';

/** Shared compile cache, so that a run of the suite compiles a program once and not for each process. */
const { NODE_COMPILE_CACHE } = process.env;
export const COMPILE_CACHE: Readonly<Record<string, string>> = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {};

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A line of a program's log, or whatever else it printed, as `msg`. */
export type LogLine = { msg: string; level?: string; [field: string]: unknown };

export type ProgramOptions = {
  args: readonly string[];
  /** Flags of Node.js itself, and of V8. */
  nodeArgs?: readonly string[];
  env?: Record<string, string>;
  /** Root of the tree whose bundle runs; defaults to this repository. */
  root?: string | undefined;
  /** Its standard output and error go there, and are not read. */
  logFile?: string | undefined;
  onLog?: (line: LogLine) => void;
};

/** One of the two programs, as a process of its own. */
export class Program {
  readonly pid: number;
  readonly logs: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  constructor(name: 'agent' | 'coordinator', options: ProgramOptions) {
    const { args, nodeArgs = [], env = {}, root = ROOT, logFile, onLog } = options;
    const file = path.join(root, name, 'dist/main.js');
    this.#child = spawnChild(process.execPath, {
      args: [...nodeArgs, file, ...args],
      ...(logFile === undefined ? { stdio: ['ignore', 'pipe', 'pipe'] } : { logFile }),
      env: { ...IMAGE_ENV, PATH: process.env['PATH'], ...COMPILE_CACHE, ...env },
    });
    this.pid = this.#child.pid ?? 0;
    this.#closed = new Promise((resolve) => this.#child.once('close', resolve));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (text) => {
        const line = parseLine(text);
        this.logs.push(line);
        onLog?.(line);
      });
    }
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Waits for a log line that the program has written or will write. */
  waitForLog(msg: string, timeoutMs = 10_000): Promise<LogLine> {
    const check = () => this.logs.find((line) => line.msg === msg);
    return waitFor(`the log line "${msg}"`, check, { timeoutMs });
  }

  /** Sends a signal, and waits until the process stands still (SIGSTOP) or is gone. Returns the exit code. */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    await signalChild(this.#child, signal);
    return this.#child.exitCode;
  }

  /** Waits for its end, and until all is read that it printed. Returns the exit code. */
  async exited(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  /** Ends it without grace, whatever state it is in. */
  async destroy(): Promise<void> {
    await killChild(this.#child);
  }

  /** The end of its log, for the message of a test that failed. */
  tail(lines = 20): string {
    return this.logs
      .slice(-lines)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }
}

function parseLine(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return { msg: text };
  }
}
