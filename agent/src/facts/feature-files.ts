import type { Clock } from '@rollcall/common/clock.ts';
import { type FeatureSets, takeFeatures } from './parse-features.ts';

/** As much of a file as NFD reads. */
const FILE_BYTES_MAX = 65_536;
const BYTES_MAX = 4 * FILE_BYTES_MAX;
const FILES_MAX = 256;

/** What is wrong with the directory as a whole: nobody knows what it says. */
class Unreadable extends Error {}

export type FeatureFiles = {
  /** All that the files of the directory say now; `undefined` where that cannot be told. */
  read(): FeatureSets | undefined;
};

/**
 * The feature files of NFD in a directory (`features.d`), in the order of their names, hidden ones left out. What is no
 * regular file, or a link that leads out of the directory, does not count. One that is too large or cannot be read may say
 * anything, and so may more files than are read.
 */
export function openFeatureFiles(directory: string, clock: Pick<Clock, 'now'>): FeatureFiles {
  const fs = process.getBuiltinModule('node:fs');
  const { O_RDONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = fs.constants;

  function names(): string[] {
    const found: string[] = [];
    const open = fs.opendirSync(directory);
    try {
      for (let entry = open.readSync(); entry; entry = open.readSync()) {
        if (!entry.name.startsWith('.')) found.push(entry.name);
        if (found.length > FILES_MAX) throw new Unreadable();
      }
    } finally {
      open.closeSync();
    }
    return found.sort();
  }

  /** A FIFO in the place of a file neither blocks nor is read. */
  function text(file: string, bytes: Buffer): string {
    const fd = fs.openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    try {
      if (!fs.fstatSync(fd).isFile()) return '';
      const length = fs.readSync(fd, bytes, 0, bytes.length, 0);
      if (length > FILE_BYTES_MAX) throw new Unreadable();
      return bytes.toString('utf8', 0, length);
    } finally {
      fs.closeSync(fd);
    }
  }

  function readAll(): FeatureSets {
    const sets: FeatureSets = { label: new Map(), feature: new Map() };
    const bytes = Buffer.allocUnsafe(FILE_BYTES_MAX + 1);
    const root = `${fs.realpathSync.native(directory)}/`;
    const nowMs = clock.now();
    let left = BYTES_MAX;
    for (const name of names()) {
      try {
        const file = fs.realpathSync.native(root + name);
        const content = file.startsWith(root) ? text(file, bytes) : '';
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
    read() {
      try {
        return readAll();
      } catch {
        return undefined;
      }
    },
  };
}

function isNoFile(err: unknown): boolean {
  return err instanceof Error && 'code' in err && ['ENOENT', 'ELOOP', 'ENXIO'].includes(String(err.code));
}
