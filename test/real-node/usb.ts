import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UsbDevice } from '../fixtures/usb.ts';

/**
 * Makes the directories of a device as sysfs has them, but right in `devicesDir`, where sysfs has links.
 * Returns the properties of the message that udev sends about it.
 */
export async function plugUsb(devicesDir: string, device: UsbDevice): Promise<string[]> {
  const { port, vendor, device: product, interfaces } = device;
  const [bus = '', path = ''] = port.split('-');
  const number = '5';
  const dir = join(devicesDir, port);
  await mkdir(dir, { recursive: true });
  await writeAttributes(dir, {
    busnum: bus,
    devnum: number,
    devpath: path,
    idVendor: vendor,
    idProduct: product,
    bcdDevice: '0100',
    bDeviceClass: device.class ?? '00',
    bDeviceSubClass: '00',
    bDeviceProtocol: '00',
    bNumInterfaces: ` ${interfaces.length}`,
    bMaxPacketSize0: '9',
    bConfigurationValue: '1',
    speed: '5000',
    version: ' 3.10',
    // Who asks the usb package for one that is missing makes it open the device, which is not there.
    manufacturer: device.manufacturer ?? 'unknown',
    product: device.product ?? 'unknown',
    serial: device.serial ?? '0',
  });
  for (const [index, each] of interfaces.entries()) {
    const interfaceDir = join(dir, `${port}:1.${index}`);
    await mkdir(interfaceDir);
    await writeAttributes(interfaceDir, {
      bInterfaceClass: each.class,
      bInterfaceNumber: index.toString(16).padStart(2, '0'),
      bInterfaceProtocol: each.protocol ?? '00',
      bInterfaceSubClass: each.subclass ?? '00',
    });
  }
  return udevProperties('add', port, { bus, number, vendor, product });
}

/** @throws when no device is plugged in there. */
export async function unplugUsb(devicesDir: string, port: string): Promise<string[]> {
  const dir = join(devicesDir, port);
  const attribute = async (name: string) => (await readFile(join(dir, name), 'utf8')).trim();
  const [bus = '', number = '', vendor = '', product = ''] = await Promise.all(
    ['busnum', 'devnum', 'idVendor', 'idProduct'].map(attribute),
  );
  await rm(dir, { recursive: true });
  return udevProperties('remove', port, { bus, number, vendor, product });
}

async function writeAttributes(dir: string, attributes: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(attributes)) await writeFile(join(dir, name), `${value}\n`);
}

interface Identity {
  readonly bus: string;
  readonly number: string;
  /** 4 hex digits. */
  readonly vendor: string;
  readonly product: string;
}

function udevProperties(action: 'add' | 'remove', port: string, { bus, number, vendor, product }: Identity): string[] {
  const [busPart, numberPart] = [bus.padStart(3, '0'), number.padStart(3, '0')];
  const withoutZeros = (hex: string) => Number.parseInt(hex, 16).toString(16);
  return [
    `ACTION=${action}`,
    `DEVPATH=/bus/usb/devices/${port}`,
    'SUBSYSTEM=usb',
    'DEVTYPE=usb_device',
    `PRODUCT=${withoutZeros(vendor)}/${withoutZeros(product)}/100`,
    `BUSNUM=${busPart}`,
    `DEVNUM=${numberPart}`,
    `DEVNAME=/dev/bus/usb/${busPart}/${numberPart}`,
    'MAJOR=189',
    `MINOR=${(Number(bus) - 1) * 128 + Number(number) - 1}`,
    'SEQNUM=1',
    'USEC_INITIALIZED=1',
  ];
}
