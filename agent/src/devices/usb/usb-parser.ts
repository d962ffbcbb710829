import type { DeviceReport } from '@rollcall/common/report.ts';
import { hexId, plainText } from '../attribute-text.ts';

/** Says that the class of the device stands with its interfaces. */
const CLASS_PER_INTERFACE = '00';

export type UsbFiles = {
  bDeviceClass: string | undefined;
  idVendor: string | undefined;
  idProduct: string | undefined;
  serial: string | undefined;
  /** `bInterfaceClass` of each interface; asked for only where the class stands there. */
  interfaceClasses: () => readonly (string | undefined)[];
  /** The drivers of its interfaces; the driver of a USB device itself is always the driver of the bus. */
  drivers: readonly string[];
};

/** What the kernel calls it when a program has claimed an interface: that comes and goes with the program. */
const CLAIMED_BY_PROGRAM = 'usbfs';

/** As NFD does: one device for each class that its interfaces have. None of them yet: it is not a device yet. */
export function parseUsbDevice(files: UsbFiles): DeviceReport[] | undefined {
  const deviceClass = hexId(files.bDeviceClass, 2);
  const vendor = hexId(files.idVendor, 4);
  const device = hexId(files.idProduct, 4);
  if (!(deviceClass && vendor && device)) return undefined;
  const classes = deviceClass === CLASS_PER_INTERFACE ? distinctClasses(files.interfaceClasses()) : [deviceClass];
  if (classes.length === 0) return undefined;
  const serial = plainText(files.serial);
  const drivers = new Set(files.drivers.filter((name) => name !== CLAIMED_BY_PROGRAM));
  return classes.map((code) => ({
    bus: 'usb',
    attributes: { class: code, vendor, device, ...(serial === undefined ? {} : { serial }) },
    count: 1,
    ...(drivers.size > 0 ? { driver: [...drivers].sort().join(',') } : {}),
  }));
}

function distinctClasses(texts: readonly (string | undefined)[]): string[] {
  const classes = texts.map((text) => hexId(text, 2)).filter((code) => code !== undefined);
  return [...new Set(classes)].sort();
}
