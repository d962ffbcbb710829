import type { DeviceReport } from '@rollcall/common/report.ts';
import { hexId } from '../attribute-text.ts';

/** Texts of the files of a PCI device, and what its links say; `undefined` for what is not there. */
export type PciFiles = {
  class: string | undefined;
  vendor: string | undefined;
  device: string | undefined;
  subsystem_vendor: string | undefined;
  subsystem_device: string | undefined;
  sriov_totalvfs: string | undefined;
  driver: string | undefined;
  /** A virtual function of a device that is there as well. */
  isVirtual: boolean;
};

/**
 * As NFD does: of the class, which has six digits, the first four; all ids are mandatory; `sriov_totalvfs` is there for
 * devices that can have virtual functions.
 */
export function parsePciDevice(files: PciFiles): DeviceReport | undefined {
  const classCode = hexId(files.class, 6)?.slice(0, 4);
  const vendor = hexId(files.vendor, 4);
  const device = hexId(files.device, 4);
  const subsystemVendor = hexId(files.subsystem_vendor, 4);
  const subsystemDevice = hexId(files.subsystem_device, 4);
  if (!(classCode && vendor && device && subsystemVendor && subsystemDevice)) return undefined;
  const totalVfs = files.sriov_totalvfs?.trim() ?? '';
  return {
    bus: 'pci',
    attributes: {
      class: classCode,
      vendor,
      device,
      subsystem_vendor: subsystemVendor,
      subsystem_device: subsystemDevice,
      ...(/^\d{1,5}$/.test(totalVfs) ? { sriov_totalvfs: totalVfs } : {}),
    },
    count: 1,
    ...(files.driver === undefined ? {} : { driver: files.driver }),
    ...(files.isVirtual ? { virtual: true } : {}),
  };
}
