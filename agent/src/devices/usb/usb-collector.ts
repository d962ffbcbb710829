import { DeviceCache, type DeviceLook } from '../device-cache.ts';
import type { HostFiles } from '../host-files.ts';
import { busDirectory, listBus } from '../sysfs-bus.ts';
import type { BusCollector } from '../types.ts';
import { SerialNumbers } from './serial-numbers.ts';
import { parseUsbDevice } from './usb-parser.ts';

/** USB has at most 32 interfaces for a configuration; hubs have their devices beside them. */
const INTERFACE_DIRECTORIES_MAX = 64;

/**
 * Reads `/sys/bus/usb/devices`, where `1-2` is a device and `1-2:1.0` one of its interfaces. A device is read again when
 * its file `idProduct` is another one, when its ids or its serial number are others, or when its interfaces are.
 * `onLateNews`: something became known between two readings.
 */
export function createUsbCollector(sysfsRoot: string, files: HostFiles, onLateNews: () => void): BusCollector {
  const directory = busDirectory(sysfsRoot, 'usb');
  const cache = new DeviceCache();
  const serials = new SerialNumbers(files, onLateNews);
  const serialFile = (name: string) => `${directory}/${name}/serial`;
  let interfaces: ReadonlyMap<string, readonly string[]> = new Map();

  function baseSignature(name: string): string | undefined {
    const file = files.signature(`${directory}/${name}/idProduct`);
    if (file === undefined) return undefined;
    const ids = [files.text(`${directory}/${name}/idVendor`), files.text(`${directory}/${name}/idProduct`)];
    return JSON.stringify([file, ids, interfaces.get(name)]);
  }

  const look: DeviceLook = {
    signature(name) {
      const base = baseSignature(name);
      return base && `${base} ${serials.get(serialFile(name), base)}`;
    },
    read(name) {
      const text = (attribute: string) => files.text(`${directory}/${name}/${attribute}`);
      const base = baseSignature(name);
      return parseUsbDevice({
        bDeviceClass: text('bDeviceClass'),
        idVendor: text('idVendor'),
        idProduct: text('idProduct'),
        serial: base && serials.get(serialFile(name), base),
        interfaceClasses: () =>
          files
            .directories(`${directory}/${name}`)
            .slice(0, INTERFACE_DIRECTORIES_MAX)
            .map((child) => text(`${child}/bInterfaceClass`)),
      });
    },
  };
  return {
    bus: 'usb',
    validMs: 0,
    read() {
      const listed = listBus(files, sysfsRoot, 'usb');
      if (!listed) return 'absent';
      const names = listed.filter((name) => !name.includes(':'));
      interfaces = byDevice(listed);
      serials.keep(new Set(names.map(serialFile)));
      return cache.refresh(names, look);
    },
    isLate: () => serials.isReading,
  };
}

function byDevice(listed: readonly string[]): Map<string, string[]> {
  const interfaces = new Map<string, string[]>();
  for (const name of listed) {
    const [device = '', number] = name.split(':');
    if (number === undefined) continue;
    const numbers = interfaces.get(device) ?? [];
    interfaces.set(device, numbers);
    numbers.push(number);
  }
  return interfaces;
}
