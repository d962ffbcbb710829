import { DeviceCache, type DeviceLook } from '../device-cache.ts';
import type { HostFiles } from '../host-files.ts';
import { busDirectory, listBus } from '../sysfs-bus.ts';
import type { BusCollector } from '../types.ts';
import { parsePciDevice } from './pci-parser.ts';

/** Reads `/sys/bus/pci/devices`. A device is read again when its file `device` is another one. */
export function createPciCollector(sysfsRoot: string, files: HostFiles): BusCollector {
  const directory = busDirectory(sysfsRoot, 'pci');
  const cache = new DeviceCache();
  const look: DeviceLook = {
    signature: (name) => files.signature(`${directory}/${name}/device`),
    read(name) {
      const text = (attribute: string) => files.text(`${directory}/${name}/${attribute}`);
      const device = parsePciDevice({
        class: text('class'),
        vendor: text('vendor'),
        device: text('device'),
        subsystem_vendor: text('subsystem_vendor'),
        subsystem_device: text('subsystem_device'),
        sriov_totalvfs: text('sriov_totalvfs'),
      });
      return device && [device];
    },
  };
  return {
    bus: 'pci',
    validMs: 0,
    read() {
      const names = listBus(files, sysfsRoot, 'pci');
      return names ? cache.refresh(names, look) : 'absent';
    },
  };
}
