import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';

/** Facts from world-readable files of the kernel and the distribution; empty if there is no such file. */
export type MachineFiles = {
  systemVendor: string;
  systemModel: string;
  boardVendor: string;
  boardModel: string;
  /** The beginning of /proc/cpuinfo: one processor, all of them are alike. */
  cpuinfo: string;
  /** The processors of each core, and of each socket, as ranges such as `0-3,8`: once for each core or socket. */
  cores: readonly string[];
  sockets: readonly string[];
  /** The clock sources that the kernel could use; the clock source of a hypervisor has its name. */
  clockSources: string;
  /** `xen`, or nothing. */
  hypervisorType: string;
  /** The os-release file of the machine; empty in a container, where the file belongs to the image. */
  osRelease: string;
};

const DMI = 'sys/class/dmi/id';
const CPUS = 'sys/devices/system/cpu';
const CLOCK_SOURCES = 'sys/devices/system/clocksource/clocksource0/available_clocksource';

/** Files that Docker, Podman and every kubelet put into containers. */
const CONTAINER_MARKS = ['.dockerenv', 'run/.containerenv', 'dev/termination-log'];

/**
 * Reads what `systeminformation` reads by way of a shell and `cat`, which an image without a shell does not have.
 * `root` is `/` but in tests.
 */
export function readMachineFiles(root: string): MachineFiles {
  const read = (name: string) => firstBytes(path.join(root, name), 16_384);
  const topology = (...names: string[]) =>
    distinct(
      cpuNames(path.join(root, CPUS)).map((cpu) => firstText(names, (name) => read(`${CPUS}/${cpu}/topology/${name}`))),
    );
  // -1: the firmware did not tell the kernel, which then takes all processors for one socket.
  const hasSockets = !read(`${CPUS}/cpu0/topology/physical_package_id`).startsWith('-');
  const contained = CONTAINER_MARKS.some((mark) => existsSync(path.join(root, mark)));
  return {
    systemVendor: read(`${DMI}/sys_vendor`),
    systemModel: read(`${DMI}/product_name`),
    boardVendor: read(`${DMI}/board_vendor`),
    boardModel: read(`${DMI}/board_name`),
    cpuinfo: read('proc/cpuinfo'),
    // The second name is what the file was called before Linux 5.2, and still is.
    cores: topology('core_cpus_list', 'thread_siblings_list'),
    sockets: hasSockets ? topology('package_cpus_list', 'core_siblings_list') : [],
    clockSources: read(CLOCK_SOURCES),
    hypervisorType: read('sys/hypervisor/type'),
    osRelease: contained ? '' : read('etc/os-release'),
  };
}

function cpuNames(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => /^cpu\d+$/.test(name));
  } catch {
    return [];
  }
}

function firstText(names: readonly string[], read: (name: string) => string): string {
  for (const name of names) {
    const text = read(name).trim();
    if (text !== '') return text;
  }
  return '';
}

/** A processor that is switched off has no topology. */
function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '');
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
