import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { SHORT_HISTORIES } from '../short.ts';

/** Tests by parts of their paths and of their names, or all that import a file directly or indirectly. */
export type WhichTests = { paths: readonly string[]; name?: string } | { related: readonly string[] };

export type TestRun =
  | { result: 'passed'; passed: number; tookMs: number }
  /** `by`: the first test that failed, or `undefined` for a file that could not even be loaded. */
  | { result: 'failed'; by: string | undefined; tookMs: number }
  | { result: 'overtime'; tookMs: number };

/** `changed`: files that were written since the last run. All paths are relative to the repository. */
export type RunRequest = { which: WhichTests; changed: readonly string[] };
export type RunReply = { passed: number; hasFailed: boolean; by?: string };

const FEWER = { ROLLCALL_HISTORIES: `${SHORT_HISTORIES}` };

/**
 * A vitest that stays for the next run, since most of a short run is its start: a mutant takes half a second instead of
 * five. One that was ended in an endless loop is begun anew.
 */
export class KeptVitest {
  readonly #directory: string;
  readonly #changed = new Set<string>();
  #child: ChildProcess | undefined;

  /** `directory`: of a copy of the repository. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** A file is written. */
  changed(file: string): void {
    this.#changed.add(file);
  }

  /** Runs tests until the first fails. What takes longer than `limitMs` is ended, as an endless loop must be. */
  async run(which: WhichTests, limitMs: number): Promise<TestRun> {
    const child = this.#started();
    const request: RunRequest = { which, changed: [...this.#changed] };
    this.#changed.clear();
    const startedMs = performance.now();
    const tookMs = () => performance.now() - startedMs;
    const reply = await new Promise<RunReply | 'overtime' | 'broke off'>((resolve) => {
      const timer = setTimeout(() => resolve('overtime'), limitMs);
      const end = (result: RunReply | 'broke off') => {
        clearTimeout(timer);
        child.off('message', end).off('exit', onExit);
        resolve(result);
      };
      const onExit = () => end('broke off');
      child.once('message', end).once('exit', onExit);
      child.send(request);
    });
    if (reply === 'overtime' || reply === 'broke off') this.stop();
    if (reply === 'overtime') return { result: 'overtime', tookMs: tookMs() };
    if (reply === 'broke off') return { result: 'failed', by: undefined, tookMs: tookMs() };
    if (reply.hasFailed) return { result: 'failed', by: reply.by, tookMs: tookMs() };
    return { result: 'passed', passed: reply.passed, tookMs: tookMs() };
  }

  stop(): void {
    const pid = this.#child?.pid;
    this.#child?.removeAllListeners();
    this.#child = undefined;
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }

  #started(): ChildProcess {
    this.#child ??= fork(path.join(this.#directory, 'test/mutants/vitest-process.ts'), {
      cwd: this.#directory,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...process.env, ...FEWER },
      // A group of its own, so that its workers end with it.
      detached: true,
    });
    return this.#child;
  }
}
