import { readFileSync } from 'node:fs';

/** The process has four threads for files; the fourth is left to everything that takes no turns. */
const RUNNING_MAX = 3;

/** Why a path was not looked at: these others had not answered when its time was over. */
export type NoTurn = { hanging: readonly string[] };

type Waiting = { path: string; start: () => void };

/**
 * Bounds how many threads paths hold that never answer, such as those on a mount whose server is gone: one for each
 * mount, and `RUNNING_MAX` in all. A path that hangs is not asked again before it answers.
 */
export class PathTurns {
  readonly #running = new Set<string>();
  readonly #waiting: Waiting[] = [];

  /**
   * Waits until `path` may be looked at; the caller then calls `end` when the look has ended. Resolves to `NoTurn` when
   * `signal` aborts before that, and rejects with its reason if the path itself is what hangs.
   */
  begin(path: string, signal: AbortSignal): Promise<NoTurn | undefined> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        if (this.#running.has(path)) reject(signal.reason);
        else resolve({ hanging: [...this.#running] });
      };
      const start = () => {
        signal.removeEventListener('abort', onAbort);
        this.#running.add(path);
        resolve(undefined);
      };
      const waiting = { path, start };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(waiting);
      this.#startNext();
    });
  }

  end(path: string): void {
    this.#running.delete(path);
    this.#startNext();
  }

  #startNext(): void {
    for (const waiting of [...this.#waiting]) {
      if (this.#isBlocked(waiting.path)) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.start();
    }
  }

  #isBlocked(path: string): boolean {
    if (this.#running.size === 0) return false;
    if (this.#running.size >= RUNNING_MAX || this.#running.has(path)) return true;
    const mounts = readMounts();
    const device = deviceOf(path, mounts);
    return [...this.#running].some((other) => deviceOf(other, mounts) === device);
  }
}

/** Settles as `promise` does, or rejects with the reason of `signal`. `discard` gets a result that comes after that. */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  discard: (late: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise
      .then((result) => (signal.aborted ? discard(result) : resolve(result)), reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** The text of mountinfo, which the kernel writes from memory; '' on systems other than Linux: one mount for all. */
function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/**
 * The number of the device that is mounted where `path` is, by name alone: a look at the path itself could hang. Format:
 * proc_pid_mountinfo(5).
 */
export function deviceOf(path: string, mountinfo: string): string {
  let device = '';
  let longest = 0;
  for (const line of mountinfo.split('\n')) {
    const [, , number = '', , escaped] = line.split(' ', 5);
    if (escaped === undefined) continue;
    const point = escaped.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`);
    // Of several at one point, the last one covers the others.
    if (!isAbove || point.length < longest) continue;
    device = number;
    longest = point.length;
  }
  return device;
}
