import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { waitFor } from '../control-plane/wait-for.ts';

const HOOK = path.join(import.meta.dirname, 'profile-on-signal/main.ts');

/** Writes what a program computes to files that Chrome and editors show. */
export class Profiler {
  readonly #directory: string;
  readonly #file: string;

  constructor(directory: string) {
    this.#directory = path.resolve(directory);
    this.#file = path.join(this.#directory, 'latest.cpuprofile');
  }

  /** Arguments and environment with which to start the program. */
  get start(): { nodeArgs: string[]; env: Record<string, string> } {
    return { nodeArgs: [`--import=${HOOK}`], env: { PROFILE: this.#file } };
  }

  /** Profiles the program of this pid during `act`. */
  async during<T>(pid: number, name: string, act: () => Promise<T>): Promise<T> {
    await mkdir(this.#directory, { recursive: true });
    await rm(this.#file, { force: true });
    process.kill(pid, 'SIGUSR2');
    try {
      return await act();
    } finally {
      process.kill(pid, 'SIGUSR2');
      await waitFor('the profile', () => existsSync(this.#file), { timeoutMs: 60_000 });
      await rename(this.#file, path.join(this.#directory, `${name}.cpuprofile`));
    }
  }
}
