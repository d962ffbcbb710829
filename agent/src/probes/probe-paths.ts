import { posix } from 'node:path';
import type { Answer } from './probe.ts';

/** What stands at a path. */
export type FoundFile = {
  /** Its path without links. */
  path: string;
  /** Another one, once another file took its place. */
  id: string;
  kind: 'socket' | 'file' | 'other';
  /** Wall clock, milliseconds since the epoch. */
  modifiedMs: number;
};

/**
 * The sockets and files that this agent may look at: those below the directories that its own configuration names.
 * Where links lead is looked up before each probe; what they lead to is never opened outside of these directories.
 */
export class ProbePaths {
  readonly #roots: readonly string[];
  /** A directory that hangs, as one of NFS may, takes one thread of the process for each path, and no second one. */
  readonly #looks = new Map<string, Promise<FoundFile | undefined>>();

  constructor(roots: readonly string[]) {
    this.#roots = roots.map((root) => posix.resolve(root));
  }

  /** Why nothing is looked at under this name, whatever is there. */
  refusalOf(path: unknown): string | undefined {
    if (typeof path !== 'string' || !posix.isAbsolute(path) || posix.normalize(path) !== path || path.includes('\0')) {
      return 'its path is not an absolute one without ".", ".." and "//"';
    }
    if (isBelow(path, this.#roots)) return undefined;
    const directories = this.#roots.length === 0 ? 'no directory' : `only ${this.#roots.join(', ')}`;
    return `not at ${path}: --probe-paths of this agent names ${directories}`;
  }

  /** What is at the path, or why it was not looked at. Rejects as fs does, or with the signal's reason. */
  async find(path: string, signal: AbortSignal): Promise<FoundFile | Answer> {
    const found = await unlessAborted(this.#look(path), signal);
    return found ?? { healthy: false, isProof: true, says: 'is a link that leads out of --probe-paths' };
  }

  /** As `find`; what is there and is no socket answers that. */
  async findSocket(path: string, signal: AbortSignal): Promise<FoundFile | Answer> {
    const found = await this.find(path, signal);
    if ('says' in found || found.kind === 'socket') return found;
    return { healthy: false, isProof: true, says: 'is not a socket' };
  }

  #look(path: string): Promise<FoundFile | undefined> {
    const running = this.#looks.get(path);
    if (running) return running;
    const look = this.#lookNow(path).finally(() => this.#looks.delete(path));
    this.#looks.set(path, look);
    return look;
  }

  async #lookNow(path: string): Promise<FoundFile | undefined> {
    const { lstat, realpath } = filesystem();
    const real = await realpath(path);
    const isAllowed = isBelow(real, this.#roots) || isBelow(real, await this.#realRoots());
    if (!isAllowed) return undefined;
    const stats = await lstat(real, { bigint: true });
    return {
      path: real,
      id: `${stats.dev}:${stats.ino}`,
      kind: stats.isSocket() ? 'socket' : stats.isFile() ? 'file' : 'other',
      modifiedMs: Number(stats.mtimeMs),
    };
  }

  /** A directory that is configured may itself be a link, as /var/run mostly is. */
  #realRoots(): Promise<string[]> {
    const { realpath } = filesystem();
    return Promise.all(this.#roots.map((root) => realpath(root).catch(() => root)));
  }
}

/** By getBuiltinModule, because the module costs memory as soon as it is loaded. */
function filesystem() {
  return process.getBuiltinModule('node:fs/promises');
}

function isBelow(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) => path.startsWith(directory === '/' ? '/' : `${directory}/`));
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
