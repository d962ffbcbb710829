import { DeviceCache, type DeviceReader } from '../device-cache.ts';
import { boundDriver, placeOf } from '../device-place.ts';
import { busDirectory, listBus } from '../sysfs-bus.ts';
import type { BusCollector, BusHost } from '../types.ts';
import { SerialNumbers } from './serial-numbers.ts';
import { parseUsbDevice } from './usb-parser.ts';

/** USB has at most 32 interfaces for a configuration; hubs have their devices beside them. */
const INTERFACE_DIRECTORIES_MAX = 64;

/**
 * Reads `/sys/bus/usb/devices`, where `1-2` is a device and `1-2:1.0` one of its interfaces. A device is read again when
 * its file `idProduct` is another one, when its ids or its serial number are others, or when its interfaces or their drivers
 * are.
 */
export function createUsbCollector({ sysfsRoot, files, isAccelerator, onLateNews, compared }: BusHost): BusCollector {
  const directory = busDirectory(sysfsRoot, 'usb');
  const cache = new DeviceCache(compared);
  const serials = new SerialNumbers(files, onLateNews);
  const serialFile = (name: string) => `${directory}/${name}/serial`;
  let interfaces: ReadonlyMap<string, readonly string[]> = new Map();

  /** Stays while the device is the same, whatever becomes of its interfaces. */
  function identity(name: string): string | undefined {
    const file = files.signature(`${directory}/${name}/idProduct`);
    if (file === undefined) return undefined;
    return `${file} ${files.text(`${directory}/${name}/idVendor`)} ${files.text(`${directory}/${name}/idProduct`)}`;
  }

  function driversOf(name: string): string[] {
    const own = interfaces.get(name)?.slice(0, INTERFACE_DIRECTORIES_MAX) ?? [];
    return own.flatMap((number) => boundDriver(files, `${directory}/${name}:${number}`) ?? []);
  }

  const reader: DeviceReader = {
    signature(name) {
      const own = identity(name);
      return own && JSON.stringify([own, interfaces.get(name), driversOf(name), serials.get(serialFile(name), own)]);
    },
    read(name) {
      const text = (attribute: string) => files.text(`${directory}/${name}/${attribute}`);
      const own = identity(name);
      const devices = parseUsbDevice({
        bDeviceClass: text('bDeviceClass'),
        idVendor: text('idVendor'),
        idProduct: text('idProduct'),
        serial: own && serials.get(serialFile(name), own),
        interfaceClasses: () =>
          files
            .directories(`${directory}/${name}`)
            .slice(0, INTERFACE_DIRECTORIES_MAX)
            .map((child) => text(`${child}/bInterfaceClass`)),
        drivers: driversOf(name),
      });
      return devices?.map((device) =>
        isAccelerator(device) ? { ...device, ...placeOf(files, `${directory}/${name}`, name) } : device,
      );
    },
    isUrgent: (device) => device.address !== undefined,
  };
  return {
    bus: 'usb',
    hasEvents: true,
    validMs: 0,
    read() {
      const listed = listBus(files, sysfsRoot, 'usb');
      if (!listed) return 'absent';
      const names = listed.filter((name) => !name.includes(':'));
      interfaces = byDevice(listed);
      serials.keep(new Set(names.map(serialFile)));
      return cache.refresh(names, reader);
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
