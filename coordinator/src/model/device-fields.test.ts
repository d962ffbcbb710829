import { expect, test } from 'vitest';
import { settingsWithoutEffect } from './device-fields.ts';

const NONE = {
  pciDeviceClassWhitelist: ['03', '0B40'],
  pciDeviceLabelFields: ['class', 'subsystem_vendor'],
  usbDeviceClassWhitelist: ['0e', 'f'],
  usbDeviceLabelFields: ['class', 'serial'],
};

test('settings that match something have an effect', () => {
  expect(settingsWithoutEffect(NONE)).toEqual([]);
});

test('what NFD tolerates, and what matches nothing there, is named', () => {
  const copied = {
    ...NONE,
    pciDeviceClassWhitelist: ['0x03', '030200', '12'],
    pciDeviceLabelFields: ['class', 'vendro'],
    usbDeviceClassWhitelist: ['0e01'],
  };
  expect(settingsWithoutEffect(copied)).toEqual([
    'pciDeviceClassWhitelist: 0x03 matches no class: classes have 4 hexadecimal digits, without 0x',
    'pciDeviceClassWhitelist: 030200 matches no class: classes have 4 hexadecimal digits, without 0x',
    'pciDeviceLabelFields: vendro is none of class, vendor, device, subsystem_vendor, subsystem_device',
    'usbDeviceClassWhitelist: 0e01 matches no class: classes have 2 hexadecimal digits, without 0x',
  ]);
});
