import { readFileSync } from 'node:fs';

/** The process has four threads for files; the fourth is left to everything that takes no turns. */
const RUNNING_MAX = 3;

/** Why a path was not looked at: these others had not answered when its time was over. */
export type NoTurn = { hanging: readonly string[] };

/** Mounts that come are known after so long; until then a path on one counts as on the mount above it. */
const MOUNTS_KNOWN_MS = 5000;

type Waiting = { path: string; start: () => void };

/**
 * Bounds how many threads paths hold that never answer, such as those on a mount whose server is gone: one for each
 * mount, and `RUNNING_MAX` in all. A path that hangs is not asked again before it answers.
 */
export class PathTurns {
  readonly #readMountinfo: () => string;
  /** The device of each path that is looked at. */
  readonly #running = new Map<string, string>();
  /** By device, in order; the device that had a turn is the last. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #mounts: Mounts = { devices: new Map(), longest: 0 };
  #mountsReadMs = Number.NEGATIVE_INFINITY;

  constructor(readMountinfo = readOwnMountinfo) {
    this.#readMountinfo = readMountinfo;
  }

  /**
   * Waits until `path` may be looked at; the caller then calls `end` when the look has ended. Resolves to `NoTurn` when
   * `signal` aborts before that, and rejects with its reason if the path itself is what hangs.
   */
  begin(path: string, signal: AbortSignal): Promise<NoTurn | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const device = this.#running.get(path) ?? deviceOf(path, this.#knownMounts());
      const queue = this.#waiting.get(device) ?? new Set();
      const onAbort = () => {
        this.#leave(device, queue, waiting);
        if (this.#running.has(path)) reject(signal.reason);
        else resolve({ hanging: [...this.#running.keys()] });
      };
      const start = () => {
        signal.removeEventListener('abort', onAbort);
        this.#running.set(path, device);
        resolve(undefined);
      };
      const waiting = { path, start };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(device, queue.add(waiting));
      this.#startNext();
    });
  }

  end(path: string): void {
    this.#running.delete(path);
    this.#startNext();
  }

  /** Passes over at most the devices that are looked at, which are few. */
  #startNext(): void {
    for (const [device, queue] of this.#waiting) {
      if (this.#running.size >= RUNNING_MAX) return;
      const [next] = queue;
      if (!next || this.#running.has(next.path) || [...this.#running.values()].includes(device)) continue;
      this.#leave(device, queue, next);
      if (this.#waiting.delete(device)) this.#waiting.set(device, queue);
      next.start();
    }
  }

  #leave(device: string, queue: Set<Waiting>, waiting: Waiting): void {
    queue.delete(waiting);
    if (queue.size === 0) this.#waiting.delete(device);
  }

  #knownMounts(): Mounts {
    const nowMs = performance.now();
    if (nowMs - this.#mountsReadMs >= MOUNTS_KNOWN_MS) {
      this.#mounts = parseMountinfo(this.#readMountinfo());
      this.#mountsReadMs = nowMs;
    }
    return this.#mounts;
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
function readOwnMountinfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/** Mount points of the machine: the number of the device at each, and the characters of the longest. */
export type Mounts = { devices: ReadonlyMap<string, string>; longest: number };

/** Of several mounts at one point, the last one covers the others. Format: proc_pid_mountinfo(5). */
export function parseMountinfo(text: string): Mounts {
  const devices = new Map<string, string>();
  let longest = 0;
  for (const line of text.split('\n')) {
    const [, , number = '', , escaped] = line.split(' ', 5);
    if (escaped === undefined) continue;
    const point = escaped.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    devices.set(point, number);
    longest = Math.max(longest, point.length);
  }
  return { devices, longest };
}

/** The device that is mounted where `path` is, by name alone: a look at the path itself could hang. */
export function deviceOf(path: string, { devices, longest }: Mounts): string {
  let at = path.length <= longest ? path : path.slice(0, path.lastIndexOf('/', longest));
  for (; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const device = devices.get(at);
    if (device !== undefined) return device;
  }
  return devices.get('/') ?? '';
}
