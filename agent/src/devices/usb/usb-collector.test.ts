import { mkdirSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openHostFiles } from '../host-files.ts';
import { CORAL, FakeSysfs, hostOf, recordingFiles } from '../testing/fake-sysfs.ts';
import type { BusCollector } from '../types.ts';
import { createUsbCollector } from './usb-collector.ts';

const LIMIT = { timeout: 10_000 };

const HUB = { class: '09', vendor: '1d6b', device: '0002' };

const files = recordingFiles(openHostFiles());
const onLateNews = vi.fn();
let sysfs: FakeSysfs;
let collector: BusCollector;

beforeEach(() => {
  onLateNews.mockClear();
  sysfs = new FakeSysfs();
  collector = createUsbCollector(hostOf(sysfs, files, onLateNews));
});

afterEach(() => sysfs.dispose());

function read() {
  const reading = collector.read();
  return reading === 'absent' ? reading : reading.devices.map(({ attributes }) => attributes);
}

describe('the USB collector', () => {
  test('reads every device, one for each class of its interfaces where these have it', () => {
    sysfs.usb('usb1', HUB);
    sysfs.usb('1-1', { vendor: '1a6e', device: '089a', interfaces: ['fe', 'fe', 'ff'] });
    expect(read()).toEqual(
      expect.arrayContaining([
        HUB,
        { class: 'fe', vendor: '1a6e', device: '089a' },
        { class: 'ff', vendor: '1a6e', device: '089a' },
      ]),
    );
    expect(read()).toHaveLength(3);
  });

  test('tells the serial number a moment later', async () => {
    sysfs.usb('1-1', { ...CORAL, serial: 'AB 12' });
    expect(read()).toEqual([{ class: 'fe', vendor: '1a6e', device: '089a' }]);
    expect(collector.isLate?.()).toBe(true);
    await vi.waitFor(() => expect(onLateNews).toHaveBeenCalledTimes(1), LIMIT);
    expect(read()).toEqual([{ class: 'fe', vendor: '1a6e', device: '089a', serial: 'AB 12' }]);
    expect(collector.isLate?.()).toBe(false);
  });

  test('keeps the serial number when the kernel makes the inodes of sysfs anew, with other times', async () => {
    sysfs.usb('1-1', { ...CORAL, serial: 'AB12' });
    read();
    await vi.waitFor(() => expect(onLateNews).toHaveBeenCalledTimes(1), LIMIT);
    for (let scans = 0; scans < 3; scans += 1) expect(read()).toMatchObject([{ serial: 'AB12' }]);
    const known = collector.read();
    for (const file of ['idVendor', 'idProduct', 'serial']) utimesSync(sysfs.file('usb', '1-1', file), 1, 1);
    expect(collector.read()).toBe(known);
    expect(collector.isLate?.()).toBe(false);
  });

  test('asks for the serial number anew of what was away meanwhile', async () => {
    sysfs.usb('1-1', { ...CORAL, serial: 'AB12' });
    read();
    await vi.waitFor(() => expect(onLateNews).toHaveBeenCalledTimes(1), LIMIT);
    const device = realpathSync(sysfs.file('usb', '1-1', '.'));
    sysfs.remove('usb', '1-1');
    expect(read()).toEqual([]);
    writeFileSync(`${device}/serial`, 'CD34\n');
    symlinkSync(device, `${sysfs.bus('usb')}/1-1`);
    read();
    await vi.waitFor(() => expect(onLateNews).toHaveBeenCalledTimes(2), LIMIT);
    expect(read()).toMatchObject([{ serial: 'CD34' }]);
  });

  test('keeps the serial number while the interfaces of the device change', async () => {
    sysfs.usb('1-1', { ...CORAL, serial: 'AB12' });
    read();
    await vi.waitFor(() => expect(onLateNews).toHaveBeenCalledTimes(1), LIMIT);
    sysfs.addInterface('1-1', 1, 'ff');
    expect(read()).toMatchObject([
      { class: 'fe', serial: 'AB12' },
      { class: 'ff', serial: 'AB12' },
    ]);
  });

  test('sees interfaces that come after the device', () => {
    sysfs.usb('1-1', { vendor: '1a6e', device: '089a' });
    expect(read()).toEqual([]);
    expect(collector.read()).toMatchObject({ settling: true });
    mkdirSync(sysfs.file('usb', '1-1', '1-1:1.0'));
    writeFileSync(sysfs.file('usb', '1-1', '1-1:1.0/bInterfaceClass'), 'fe\n');
    expect(read()).toMatchObject([{ class: 'fe' }]);
  });

  test('sees ids that change in place', () => {
    sysfs.usb('1-1', { ...CORAL, class: 'ff' });
    for (let scans = 0; scans < 3; scans += 1) read();
    writeFileSync(sysfs.file('usb', '1-1', 'idVendor'), '18d1\n');
    writeFileSync(sysfs.file('usb', '1-1', 'idProduct'), '9302\n');
    expect(read()).toMatchObject([{ vendor: '18d1', device: '9302' }]);
  });

  test('sees a vendor that changes in place', () => {
    sysfs.usb('1-1', { ...CORAL, class: 'ff' });
    for (let scans = 0; scans < 3; scans += 1) read();
    writeFileSync(sysfs.file('usb', '1-1', 'idVendor'), '18d1\n');
    expect(read()).toMatchObject([{ vendor: '18d1', device: '089a' }]);
  });

  test('sees a device that took the place of another with the same ids', () => {
    sysfs.usb('1-1', { ...CORAL, class: 'fe' });
    for (let scans = 0; scans < 3; scans += 1) read();
    sysfs.remove('usb', '1-1');
    sysfs.usb('1-1', { ...CORAL, class: 'ff' });
    expect(read()).toMatchObject([{ class: 'ff' }]);
  });

  test('sees other interfaces of a device that stays', () => {
    sysfs.usb('1-1', CORAL);
    for (let scans = 0; scans < 3; scans += 1) read();
    const added = sysfs.file('usb', '1-1', '1-1:2.0');
    mkdirSync(added);
    writeFileSync(`${added}/bInterfaceClass`, 'ff\n');
    symlinkSync(added, `${sysfs.bus('usb')}/1-1:2.0`);
    expect(read()).toMatchObject([{ class: 'fe' }, { class: 'ff' }]);
  });

  test('looks only at the ids of what it knows', () => {
    sysfs.usb('1-1', CORAL);
    for (let scans = 0; scans < 3; scans += 1) read();
    files.taken();
    read();
    expect(files.taken().map((file) => file.split('/').at(-1))).toEqual(['idVendor', 'idProduct']);
  });

  test.each(['bDeviceClass', 'idVendor', 'idProduct'])('passes over a device without %s, and over no other', (name) => {
    sysfs.usb('1-1', CORAL);
    sysfs.usb('1-2', HUB);
    rmSync(sysfs.file('usb', '1-1', name));
    expect(read()).toMatchObject([HUB]);
  });

  test('tells a machine without the bus from a bus without devices', () => {
    expect(read()).toEqual([]);
    rmSync(`${sysfs.root}/bus/usb`, { recursive: true });
    expect(read()).toBe('absent');
  });
});
