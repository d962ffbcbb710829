import type { MachineFiles } from './machine-files.ts';

type Sources = Pick<MachineFiles, 'cpuinfo' | 'clockSources' | 'hypervisorType' | 'systemVendor' | 'systemModel'>;

/** Clock sources that a hypervisor offers to its guests. */
const BY_CLOCK_SOURCE: readonly [RegExp, string][] = [
  [/\bkvm-clock\b/, 'KVM'],
  [/\bxen\b/, 'Xen'],
  [/\bhyperv_clocksource/, 'Hyper-V'],
];

/** What the firmware of virtual machines calls itself: vendor and model. */
const BY_FIRMWARE: readonly [RegExp, string][] = [
  [/^VMware/i, 'VMware'],
  [/^innotek GmbH|\bVirtualBox$/i, 'VirtualBox'],
  [/^Microsoft Corporation Virtual Machine$/i, 'Hyper-V'],
  [/^Parallels/i, 'Parallels'],
  [/^(FreeBSD )?BHYVE/i, 'bhyve'],
  [/^Xen\b/i, 'Xen'],
  [/\bKVM$|^(KubeVirt|OpenStack)/i, 'KVM'],
  [/^QEMU/i, 'QEMU'],
];

/**
 * The hypervisor under this machine, by the names that `systeminformation` gives; `undefined` where there is none or
 * nothing tells. Each x86 guest has a flag that says so, and without it there is none.
 */
export function hypervisorOf(files: Sources): string | undefined {
  if (isGuest(files.cpuinfo) === false) return undefined;
  if (files.hypervisorType.trim() === 'xen') return 'Xen';
  const firmware = `${files.systemVendor.trim()} ${files.systemModel.trim()}`;
  return named(BY_CLOCK_SOURCE, files.clockSources) ?? named(BY_FIRMWARE, firmware);
}

/** Whether this is a virtual machine, by the flags of an x86 processor; `undefined` where these are not known. */
export function isGuest(cpuinfo: string): boolean | undefined {
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1];
  return flags === undefined ? undefined : /\bhypervisor\b/.test(flags);
}

function named(names: readonly [RegExp, string][], text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1];
}
