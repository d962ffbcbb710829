import type { BigIntStats } from 'node:fs';
import { posix } from 'node:path';
import { PathTurns, unlessAborted } from '../path-turns.ts';
import { codedError } from './exchange.ts';
import type { ProbeAnswer } from './probe.ts';

/** open(2): a handle on what is at a path, which neither reads it nor waits for it. Node.js has no name for it. */
const O_PATH = 0o10000000;

/** What stands at a path. The caller closes it. */
export type FoundFile = {
  /** Leads to this very file, whatever stands at its path by now; only until `close`. */
  path: string;
  /** Another one, once another file took its place. */
  id: string;
  kind: 'socket' | 'file' | 'other';
  /** Wall clock, milliseconds since the epoch. */
  modifiedMs: number;
  /** Of a regular file, if it was asked for: what is before the first line break, at most `FIRST_LINE_BYTES`. */
  firstLine?: string;
  close(): void;
};

const FIRST_LINE_BYTES = 1024;
/** Sockets of container runtimes and of the kubelet. Who may connect to one may run containers, or learn of all pods. */
const RUNTIME_SOCKET =
  /\/(containerd|crio|docker|cri-dockerd|podman)\.sock(\.ttrpc)?$|\/(pod-resources|device-plugins)\/kubelet\.sock$/;
const IS_RUNTIME_SOCKET: ProbeAnswer = {
  healthy: false,
  isProof: true,
  says: 'is the socket of a container runtime or of the kubelet: --probe-paths of this agent does not name its directory',
};

/**
 * The sockets and files that this agent may look at: those below the directories that its own configuration names.
 * A file is first opened, as a handle only, then it is seen where that handle leads, and only the handle is used.
 */
export class ProbePaths {
  readonly #roots: readonly string[];
  readonly #turns: PathTurns;

  constructor(roots: readonly string[], turns = new PathTurns()) {
    this.#roots = roots.map((root) => posix.resolve(root));
    this.#turns = turns;
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
  async find(path: string, signal: AbortSignal, withFirstLine = false): Promise<FoundFile | ProbeAnswer> {
    const noTurn = await this.#turns.begin(path, signal);
    if (noTurn) {
      return { healthy: false, isUnknown: true, says: `was not checked: ${noTurn.hanging.join(', ')} did not answer` };
    }
    const looked = this.#look(path, withFirstLine).finally(() => this.#turns.end(path));
    const found = await unlessAborted(looked, signal, (late) => {
      if (late && 'close' in late) late.close();
    });
    return found ?? { healthy: false, isProof: true, says: 'is a link that leads out of --probe-paths' };
  }

  /** As `find`; what is there and is no socket answers that. */
  async findSocket(path: string, signal: AbortSignal): Promise<FoundFile | ProbeAnswer> {
    const found = await this.find(path, signal);
    if ('says' in found || found.kind === 'socket') return found;
    found.close();
    return { healthy: false, isProof: true, says: 'is not a socket' };
  }

  /** `undefined` for what is outside of the directories. */
  async #look(path: string, withFirstLine: boolean): Promise<FoundFile | ProbeAnswer | undefined> {
    const opened = await open(path);
    try {
      const real = opened.realPath();
      if (!isBelow(real, this.#roots) && !(await this.#isBelowRealRoot(real))) {
        opened.close();
        return undefined;
      }
      const [stats, there] = [await opened.stats(), await lstat(real)];
      // The handle may also lead to a file that was deleted, or to one of another mount namespace.
      if (idOf(stats) !== idOf(there)) throw codedError('ENOENT');
      if (stats.isSocket() && RUNTIME_SOCKET.test(real) && !(await this.#isNamed(real))) {
        opened.close();
        return IS_RUNTIME_SOCKET;
      }
      const kind = stats.isSocket() ? 'socket' : stats.isFile() ? 'file' : 'other';
      return {
        path: opened.path,
        id: idOf(stats),
        kind,
        ...(withFirstLine && kind === 'file' ? { firstLine: await firstLineOf(opened.path) } : {}),
        modifiedMs: Number(stats.mtimeMs),
        close: opened.close,
      };
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  async #isBelowRealRoot(real: string): Promise<boolean> {
    return this.#someRealRoot((root) => isBelow(real, [root]));
  }

  /** Whether the directory of the file is itself one that is configured. */
  async #isNamed(real: string): Promise<boolean> {
    const directory = posix.dirname(real);
    return this.#roots.includes(directory) || this.#someRealRoot((root) => root === directory);
  }

  /** A directory that is configured may itself be a link, as /var/run mostly is. One that hangs delays none before it. */
  async #someRealRoot(isIt: (root: string) => boolean): Promise<boolean> {
    for (const root of this.#roots) if (isIt(await realpath(root).catch(() => root))) return true;
    return false;
  }
}

type Opened = { path: string; realPath(): string; stats(): Promise<BigIntStats>; close(): void };

/**
 * Opens a handle. Other systems than Linux have none that can be used for a socket: there, a link that is put in the
 * place of the file between the look and the connection leads the connection astray.
 */
async function open(path: string): Promise<Opened> {
  const fs = process.getBuiltinModule('node:fs');
  if (process.platform !== 'linux') {
    const real = await realpath(path);
    return { path: real, realPath: () => real, stats: () => lstat(real), close: () => {} };
  }
  const fd = await inThread<number>((done) => fs.open(path, O_PATH, done));
  let isOpen = true;
  return {
    path: `/proc/self/fd/${fd}`,
    realPath: () => fs.readlinkSync(`/proc/self/fd/${fd}`),
    stats: () => inThread((done) => fs.fstat(fd, { bigint: true }, done)),
    close() {
      // A number is given again: closed twice, it would close another's file.
      if (isOpen) fs.closeSync(fd);
      isOpen = false;
    },
  };
}

async function firstLineOf(path: string): Promise<string> {
  const fs = process.getBuiltinModule('node:fs');
  const fd = await inThread<number>((done) => fs.open(path, 'r', done));
  try {
    const buffer = Buffer.alloc(FIRST_LINE_BYTES);
    const bytes = await inThread<number>((done) => fs.read(fd, buffer, 0, buffer.length, 0, done));
    const [line = ''] = buffer.toString('utf8', 0, bytes).split(/\r?\n/, 1);
    return line;
  } finally {
    fs.closeSync(fd);
  }
}

function lstat(path: string): Promise<BigIntStats> {
  return inThread((done) => process.getBuiltinModule('node:fs').lstat(path, { bigint: true }, done));
}

function realpath(path: string): Promise<string> {
  return inThread((done) => process.getBuiltinModule('node:fs').realpath.native(path, done));
}

function inThread<T>(call: (done: (error: Error | null, result: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result)));
  });
}

function idOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

function isBelow(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) => path.startsWith(directory === '/' ? '/' : `${directory}/`));
}
