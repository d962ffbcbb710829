/** No attribute of interest is nearly as long. */
export const FILE_BYTES_MAX = 4096;
/** A number and the end of its line. */
const COUNTER_BYTES_MAX = 32;

/** Trouble of this process or machine, which says nothing about the file. */
const OWN_TROUBLE: readonly unknown[] = ['EMFILE', 'ENFILE', 'ENOMEM'];
const NOT_THERE: readonly unknown[] = ['ENOENT', 'ENOTDIR'];

/** All that the collectors do with files. Everything throws when this process has run out of files or memory. */
export type HostFiles = {
  /** Names in a directory; `undefined` where there is none. Throws when it cannot be listed. */
  list(directory: string): string[] | undefined;
  /** Names of the directories in a directory, links not included; none where they cannot be listed. */
  directories(directory: string): string[];
  /**
   * Tells one file from its successor under the same name; `undefined` where there is none. By its inode number and, in
   * what stands in for sysfs, when it was made: the other times of a file in sysfs are those at which the kernel made the
   * inode, which it forgets when it wants the memory. The number stays, and is not given again soon.
   */
  signature(file: string): string | undefined;
  /** The same of a directory, which also changes with the number of directories in it. */
  directorySignature(directory: string): string | undefined;
  /** Changes with the number of directories in a directory; `undefined` where it cannot be told. */
  childCount(directory: string): number | undefined;
  /** Returns the target of a symbolic link, unresolved; `undefined` if there is no link. */
  link(file: string): string | undefined;
  /** The first `FILE_BYTES_MAX` bytes of a regular file; `undefined` for whatever cannot be read like one. */
  text(file: string): string | undefined;
  /**
   * Opens a file of the kernel that is read again and again: to open it costs more than to read it. The function that it
   * returns gives the first bytes as they are now. `undefined` for whatever cannot be read.
   */
  reread(file: string): (() => string | undefined) | undefined;
  /** The same for files that the kernel may keep a reader waiting for. Never rejects. */
  textLater(file: string): Promise<string | undefined>;
};

/** Reads are synchronous where it says nothing else: sysfs answers from memory, and a detour by threads costs more. */
export function openHostFiles(): HostFiles {
  const fs = process.getBuiltinModule('node:fs');
  const shared = Buffer.allocUnsafe(FILE_BYTES_MAX);
  /** The directory that was last found to be missing. */
  let missing: string | undefined;

  /** A FIFO or a device in the place of a file neither blocks (`O_NONBLOCK`) nor is read. */
  function openRegular(file: string): number | undefined {
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY);
    if (fs.fstatSync(fd).isFile()) return fd;
    fs.closeSync(fd);
    return undefined;
  }

  return {
    list(directory) {
      try {
        // Many machines lack a bus, and an exception costs more than this.
        if (missing === directory && !fs.statSync(directory, { throwIfNoEntry: false })) return undefined;
        return fs.readdirSync(directory);
      } catch (err) {
        if (!NOT_THERE.includes(codeOf(err))) throw err;
        missing = directory;
        return undefined;
      }
    },
    directories(directory) {
      try {
        const entries = fs.readdirSync(directory, { withFileTypes: true });
        return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
      } catch (err) {
        return nothing(err) ?? [];
      }
    },
    signature(file) {
      try {
        const stats = fs.statSync(file, { throwIfNoEntry: false });
        return stats && `${stats.ino} ${stats.birthtimeMs}`;
      } catch (err) {
        return nothing(err);
      }
    },
    directorySignature(directory) {
      try {
        const stats = fs.statSync(directory, { throwIfNoEntry: false });
        return stats?.isDirectory() ? `${stats.ino} ${stats.birthtimeMs} ${stats.nlink}` : undefined;
      } catch (err) {
        return nothing(err);
      }
    },
    childCount(directory) {
      try {
        return fs.statSync(directory, { throwIfNoEntry: false })?.nlink;
      } catch (err) {
        return nothing(err);
      }
    },
    link(file) {
      try {
        return fs.readlinkSync(file);
      } catch (err) {
        return nothing(err);
      }
    },
    text(file) {
      try {
        const fd = openRegular(file);
        if (fd === undefined) return undefined;
        try {
          return shared.toString('utf8', 0, fs.readSync(fd, shared, 0, FILE_BYTES_MAX, 0));
        } finally {
          fs.closeSync(fd);
        }
      } catch (err) {
        return nothing(err);
      }
    },
    reread(file) {
      try {
        const fd = openRegular(file);
        if (fd === undefined) return undefined;
        return () => {
          try {
            return shared.toString('latin1', 0, fs.readSync(fd, shared, 0, COUNTER_BYTES_MAX, 0));
          } catch (err) {
            return nothing(err);
          }
        };
      } catch (err) {
        return nothing(err);
      }
    },
    async textLater(file) {
      try {
        const fd = openRegular(file);
        if (fd === undefined) return undefined;
        return await new Promise<string | undefined>((resolve) => {
          fs.read(fd, Buffer.allocUnsafe(FILE_BYTES_MAX), 0, FILE_BYTES_MAX, 0, (err, length, buffer) => {
            fs.closeSync(fd);
            resolve(err ? undefined : buffer.toString('utf8', 0, length));
          });
        });
      } catch {
        return undefined;
      }
    },
  };
}

function nothing(err: unknown): undefined {
  if (OWN_TROUBLE.includes(codeOf(err))) throw err;
}

function codeOf(err: unknown): unknown {
  return err instanceof Error && 'code' in err ? err.code : undefined;
}
