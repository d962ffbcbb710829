import { describe, expect, test } from 'vitest';
import { parseUsbDevice, type UsbFiles } from './usb-parser.ts';

function usb(classes: readonly (string | undefined)[], files: Partial<UsbFiles> = {}): UsbFiles {
  return {
    bDeviceClass: '00\n',
    idVendor: '1a6e\n',
    idProduct: '089A\n',
    serial: undefined,
    interfaceClasses: () => classes,
    drivers: [],
    ...files,
  };
}

describe('parseUsbDevice', () => {
  test('is one device for each class that its interfaces have', () => {
    expect(parseUsbDevice(usb(['ff\n', 'FE\n', 'fe\n', undefined, 'junk']))).toEqual([
      { bus: 'usb', attributes: { class: 'fe', vendor: '1a6e', device: '089a' }, count: 1 },
      { bus: 'usb', attributes: { class: 'ff', vendor: '1a6e', device: '089a' }, count: 1 },
    ]);
  });

  test('is one device where the device has a class, whatever its interfaces say', () => {
    const interfaceClasses = () => {
      throw new Error('must not be read');
    };
    const devices = parseUsbDevice(usb([], { bDeviceClass: 'ff\n', serial: ' AB 12\n', interfaceClasses }));
    expect(devices?.map(({ attributes }) => attributes)).toEqual([
      { class: 'ff', vendor: '1a6e', device: '089a', serial: 'AB 12' },
    ]);
  });

  test('tells the drivers of its interfaces, but not that a program uses one', () => {
    const driverOf = (...drivers: string[]) => parseUsbDevice(usb(['ff'], { drivers }))?.[0]?.driver;
    expect(driverOf('uvcvideo', 'snd-usb-audio', 'uvcvideo')).toBe('snd-usb-audio,uvcvideo');
    expect(driverOf('usbfs')).toBeUndefined();
  });

  test('is no device yet while it has no interface', () => {
    expect(parseUsbDevice(usb([]))).toBeUndefined();
  });

  test.each(['bDeviceClass', 'idVendor', 'idProduct'] as const)('needs %s', (attribute) => {
    for (const text of [undefined, '', 'xyz', '\0']) {
      expect(parseUsbDevice(usb(['ff'], { [attribute]: text }))).toBeUndefined();
    }
  });

  test('goes without a serial number that is no text', () => {
    expect(parseUsbDevice(usb(['ff'], { serial: 'a\0b' }))?.[0]?.attributes).not.toHaveProperty('serial');
  });
});
