import { DeviceCache, type DeviceReader } from '../device-cache.ts';
import { boundDriver, placeOf } from '../device-place.ts';
import { busDirectory, listBus } from '../sysfs-bus.ts';
import type { BusCollector, BusHost } from '../types.ts';
import { parsePciDevice } from './pci-parser.ts';

/**
 * Reads `/sys/bus/pci/devices`. A device is read again when its directory is another one, when its driver is, or when
 * something appears below it, as its device nodes do.
 */
export function createPciCollector({ sysfsRoot, files, isAccelerator, compared }: BusHost): BusCollector {
  const directory = busDirectory(sysfsRoot, 'pci');
  const cache = new DeviceCache(compared);
  const reader: DeviceReader = {
    signature(name) {
      const own = `${directory}/${name}`;
      const place = files.directorySignature(own);
      return place && `${place} ${files.link(`${own}/driver`)}`;
    },
    read(name) {
      const own = `${directory}/${name}`;
      const text = (attribute: string) => files.text(`${own}/${attribute}`);
      const device = parsePciDevice({
        class: text('class'),
        vendor: text('vendor'),
        device: text('device'),
        subsystem_vendor: text('subsystem_vendor'),
        subsystem_device: text('subsystem_device'),
        sriov_totalvfs: text('sriov_totalvfs'),
        driver: boundDriver(files, own),
        isVirtual: files.link(`${own}/physfn`) !== undefined,
      });
      if (!device) return undefined;
      // Of virtual functions there may be hundreds, all alike.
      if (device.virtual || !isAccelerator(device)) return [device];
      return [{ ...device, ...placeOf(files, own, name) }];
    },
    isUrgent: (device) => device.address !== undefined,
  };
  return {
    bus: 'pci',
    hasEvents: true,
    validMs: 0,
    read() {
      const names = listBus(files, sysfsRoot, 'pci');
      return names ? cache.refresh(names, reader) : 'absent';
    },
  };
}
