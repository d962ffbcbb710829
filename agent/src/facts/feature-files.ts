import type { Clock } from '@rollcall/common/clock.ts';
import { type PathTurns, unlessAborted } from '../path-turns.ts';
import { type FeatureSets, takeFeatures } from './parse-features.ts';

/** As much of a file as NFD reads. */
const FILE_BYTES_MAX = 65_536;
const BYTES_MAX = 4 * FILE_BYTES_MAX;
const FILES_MAX = 256;

/** The directory as a whole is invalid, so its features are unknown. */
class Unreadable extends Error {}

export type FeatureFiles = {
  /**
   * All that the files of the directory say now; `undefined` where that cannot be told, or not before `signal` aborts.
   * Never rejects.
   */
  read(signal: AbortSignal): Promise<FeatureSets | undefined>;
};

/**
 * The feature files of NFD in a directory (`features.d`), in the order of their names, hidden ones left out. What is no
 * regular file, or a link that leads out of the directory, does not count. One that is too large or cannot be read may say
 * anything, and so may more files than are read.
 */
export function openFeatureFiles(directory: string, clock: Pick<Clock, 'now'>, turns: PathTurns): FeatureFiles {
  const { constants, promises: fs } = process.getBuiltinModule('node:fs');
  const { O_RDONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;

  async function names(): Promise<string[]> {
    const found: string[] = [];
    for await (const { name } of await fs.opendir(directory)) {
      if (!name.startsWith('.')) found.push(name);
      if (found.length > FILES_MAX) throw new Unreadable();
    }
    return found.sort();
  }

  /** A FIFO in the place of a file neither blocks nor is read. */
  async function text(file: string, bytes: Buffer): Promise<string> {
    const handle = await fs.open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    try {
      if (!(await handle.stat()).isFile()) return '';
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      if (bytesRead > FILE_BYTES_MAX) throw new Unreadable();
      return bytes.toString('utf8', 0, bytesRead);
    } finally {
      await handle.close();
    }
  }

  async function readAll(): Promise<FeatureSets> {
    const sets: FeatureSets = { label: new Map(), feature: new Map() };
    const bytes = Buffer.allocUnsafe(FILE_BYTES_MAX + 1);
    const root = `${await fs.realpath(directory)}/`;
    const nowMs = clock.now();
    let left = BYTES_MAX;
    for (const name of await names()) {
      try {
        const file = await fs.realpath(root + name);
        const content = file.startsWith(root) ? await text(file, bytes) : '';
        left -= Buffer.byteLength(content);
        if (left < 0) throw new Unreadable();
        takeFeatures(content, nowMs, sets);
      } catch (err) {
        // It went away meanwhile, or leads nowhere, or is a socket.
        if (!isNoFile(err)) throw err;
      }
    }
    return sets;
  }

  return {
    async read(signal) {
      try {
        if (await turns.begin(directory, signal)) return undefined;
        const sets = readAll().finally(() => turns.end(directory));
        return await unlessAborted(sets, signal);
      } catch {
        return undefined;
      }
    },
  };
}

function isNoFile(err: unknown): boolean {
  return err instanceof Error && 'code' in err && ['ENOENT', 'ELOOP', 'ENXIO'].includes(String(err.code));
}
