import type { DeviceBus } from '@rollcall/common/report.ts';
import type { HostFiles } from './host-files.ts';

export function busDirectory(sysfsRoot: string, bus: DeviceBus): string {
  return `${sysfsRoot}/bus/${bus}/devices`;
}

/**
 * Names of what is on a bus; `undefined` when the machine has no such bus. Throws when that cannot be told: without a
 * sysfs, say because it is not mounted, nothing is known of any bus.
 */
export function listBus(files: HostFiles, sysfsRoot: string, bus: DeviceBus): string[] | undefined {
  const names = files.list(busDirectory(sysfsRoot, bus));
  if (names === undefined && files.childCount(`${sysfsRoot}/bus`) === undefined) {
    throw new Error(`there is no sysfs at ${sysfsRoot}`);
  }
  return names;
}

/**
 * Gives the number of events that the kernel has sent about devices. It is another one whenever a device comes or goes, or
 * gets another driver or a node in `/dev`. `undefined` for what stands in for a sysfs, which does not tell.
 */
export function openKernelEvents(
  files: Pick<HostFiles, 'reread'>,
  sysfsRoot: string,
): (() => string | undefined) | undefined {
  return files.reread(`${sysfsRoot}/kernel/uevent_seqnum`);
}
