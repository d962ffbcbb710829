export type KernelFiles = {
  /** Whether the kernel has a module, by whichever of its spellings; `undefined` where that cannot be told. */
  hasModule(name: string): boolean | undefined;
  /** Whether the processors have a flag (on Arm a feature); `undefined` where that cannot be told. */
  hasCpuFlag(name: string): boolean | undefined;
};

/** The flags of the first processor; all of them are alike. */
const CPUINFO_BYTES_MAX = 16_384;

/** `/sys/module` has every module that is loaded, and of those that are built in the ones with parameters. */
export function openKernelFiles({ sysfsRoot, procfsRoot }: { sysfsRoot: string; procfsRoot: string }): KernelFiles {
  const fs = process.getBuiltinModule('node:fs');
  const modules = `${sysfsRoot}/module`;
  let flags: ReadonlySet<string> | undefined;

  function readFlags(): ReadonlySet<string> | undefined {
    let fd: number | undefined;
    try {
      fd = fs.openSync(`${procfsRoot}/cpuinfo`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
      const bytes = Buffer.alloc(CPUINFO_BYTES_MAX);
      const text = bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, CPUINFO_BYTES_MAX, 0));
      // A line that was cut off does not tell what it lacks.
      const [, list] = /^(?:flags|Features)\s*:(.*)\n/m.exec(text) ?? [];
      return list === undefined ? undefined : new Set(list.trim().split(/\s+/));
    } catch {
      return undefined;
    } finally {
      if (fd !== undefined) fs.closeSync(fd);
    }
  }

  return {
    hasModule(name) {
      try {
        if (!fs.statSync(modules, { throwIfNoEntry: false })) return undefined;
        return fs.statSync(`${modules}/${name.replaceAll('-', '_')}`, { throwIfNoEntry: false }) !== undefined;
      } catch {
        return undefined;
      }
    },
    hasCpuFlag(name) {
      flags ??= readFlags();
      return flags?.has(name);
    },
  };
}
