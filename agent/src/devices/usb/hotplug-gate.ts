import { statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

export type HotplugPlace = {
  /** As `--sysfs-root`. */
  sysfsRoot: string;
  /** As `--host-ip`: an address of the node. */
  hostIp: string;
};

/** This machine, as it shows to this process. */
const MACHINE = {
  sysfs: '/sys',
  addresses: () => Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
};

/**
 * Whether events of USB devices can come and would be about the bus that is scanned. udev sends them in the network
 * namespace of the host, which this is when an interface has the address of the node. The paths of `usb` are fixed: with
 * the sysfs of another machine as root, such as fixtures, its events would be news of this one. Any mount of the sysfs
 * of this machine has the same inodes.
 */
export function canHearHotplug({ sysfsRoot, hostIp }: HotplugPlace, machine = MACHINE): boolean {
  const bus = inodeOfBus(machine.sysfs);
  return bus !== undefined && bus === inodeOfBus(sysfsRoot) && machine.addresses().includes(hostIp);
}

function inodeOfBus(sysfs: string): number | undefined {
  return statSync(`${sysfs}/bus/usb/devices`, { throwIfNoEntry: false })?.ino;
}
