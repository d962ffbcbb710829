import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import path from 'node:path';

/** What the kernel and the distribution say in files that anyone may read; empty where there is no such file. */
export type MachineFiles = {
  systemVendor: string;
  systemModel: string;
  boardVendor: string;
  boardModel: string;
  /** The beginning of /proc/cpuinfo: one processor, all of them are alike. */
  cpuinfo: string;
  /** The os-release file of the machine; empty in a container, where it is that of the image. */
  osRelease: string;
};

const DMI = 'sys/class/dmi/id';

/** Files that Docker, Podman and every kubelet put into containers. */
const CONTAINER_MARKS = ['.dockerenv', 'run/.containerenv', 'dev/termination-log'];

/**
 * Reads what `systeminformation` reads by way of a shell and `cat`, which an image without a shell does not have.
 * `root` is `/` but in tests.
 */
export function readMachineFiles(root: string): MachineFiles {
  const read = (name: string) => firstBytes(path.join(root, name), 16_384);
  const contained = CONTAINER_MARKS.some((mark) => existsSync(path.join(root, mark)));
  return {
    systemVendor: read(`${DMI}/sys_vendor`),
    systemModel: read(`${DMI}/product_name`),
    boardVendor: read(`${DMI}/board_vendor`),
    boardModel: read(`${DMI}/board_name`),
    cpuinfo: read('proc/cpuinfo'),
    osRelease: contained ? '' : read('etc/os-release'),
  };
}

function firstBytes(file: string, bytesMax: number): string {
  let fd: number | undefined;
  try {
    fd = openSync(file, 'r');
    const bytes = Buffer.alloc(bytesMax);
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytesMax, 0));
  } catch {
    return '';
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
