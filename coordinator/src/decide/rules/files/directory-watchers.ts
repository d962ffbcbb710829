import { type FSWatcher, watch } from 'node:fs';
import { isIgnoredName } from './ignored-names.ts';

/** The link by which a kubelet swaps the files of a ConfigMap in one step. */
const SWAPPED_LINK = '..data';

type Watched = { identity: string; watcher: FSWatcher };

/**
 * Hints that something changed in directories. They are nothing to rely on: there is no hint on some file systems, nor
 * where the system has no more watches to give, nor for what happens before a watch is set.
 */
export class DirectoryWatchers {
  readonly #onHint: () => void;
  readonly #watched = new Map<string, Watched>();

  constructor(onHint: () => void) {
    this.#onHint = onHint;
  }

  /** Watches these directories and no others: absolute paths with what changes when another one takes the place. */
  set(directories: ReadonlyMap<string, string>): void {
    for (const [path, { identity }] of this.#watched) if (directories.get(path) !== identity) this.#drop(path);
    for (const [path, identity] of directories) if (!this.#watched.has(path)) this.#watch(path, identity);
  }

  close(): void {
    for (const path of this.#watched.keys()) this.#drop(path);
  }

  #watch(path: string, identity: string): void {
    let watcher: FSWatcher;
    try {
      watcher = watch(path, { persistent: false });
    } catch {
      return;
    }
    watcher.on('error', () => this.#drop(path));
    watcher.on('change', (_kind, name) => {
      if (typeof name === 'string' && name !== SWAPPED_LINK && isIgnoredName(name)) return;
      this.#onHint();
    });
    this.#watched.set(path, { identity, watcher });
  }

  #drop(path: string): void {
    this.#watched.get(path)?.watcher.close();
    this.#watched.delete(path);
  }
}
