import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openHostFiles } from '../host-files.ts';
import { FakeSysfs, hostOf, recordingFiles } from '../testing/fake-sysfs.ts';
import type { BusCollector, DevicesRead } from '../types.ts';
import { createPciCollector } from './pci-collector.ts';

const files = recordingFiles(openHostFiles());
let sysfs: FakeSysfs;
let collector: BusCollector;

beforeEach(() => {
  sysfs = new FakeSysfs();
  collector = createPciCollector(hostOf(sysfs, files));
  files.taken();
});

afterEach(() => sysfs.dispose());

function read() {
  const reading = collector.read();
  return reading === 'absent' ? reading : reading.devices.map(({ attributes }) => attributes);
}

describe('the PCI collector', () => {
  test('reads every device of the bus', () => {
    sysfs.pci('0000:00:00.0', { class: '0x060000', vendor: '0x8086', device: '0x0d57' });
    sysfs.pci('0000:3b:00.0', { sriov_totalvfs: '16' });
    expect(read()).toEqual(
      expect.arrayContaining([
        { class: '0600', vendor: '8086', device: '0d57', subsystem_vendor: '10de', subsystem_device: '1450' },
        {
          class: '0302',
          vendor: '10de',
          device: '20b0',
          subsystem_vendor: '10de',
          subsystem_device: '1450',
          sriov_totalvfs: '16',
        },
      ]),
    );
  });

  test.each(['class', 'vendor', 'device', 'subsystem_vendor', 'subsystem_device'])(
    'passes over a device without %s, and over no other',
    (attribute) => {
      sysfs.pci('0000:00:01.0');
      sysfs.pci('0000:00:02.0', { device: '0x2901' });
      rmSync(sysfs.file('pci', '0000:00:01.0', attribute));
      expect(read()).toMatchObject([{ device: '2901' }]);
    },
  );

  test('reads a device anew only when it is another one', () => {
    sysfs.pci('0000:00:01.0');
    sysfs.pci('0000:00:02.0', { device: '0x2901' });
    read();
    read();
    files.taken();
    expect(read()).toHaveLength(2);
    expect(files.taken()).toEqual([]);
    sysfs.remove('pci', '0000:00:02.0');
    sysfs.pci('0000:00:02.0', { device: '0x2330' });
    expect(read()).toEqual(expect.arrayContaining([expect.objectContaining({ device: '2330' })]));
    expect(new Set(files.taken().map((file) => file.split('/').at(-2)))).toEqual(new Set(['0000:00:02.0']));
  });

  test('reports the location of an accelerator, and of no other device', () => {
    sysfs.pci('0000:18:00.0');
    sysfs.pci('0000:00:00.0', { vendor: '0x8086', device: '0x09a2', class: '0x060000' });
    symlinkSync('../kernel/iommu_groups/7', sysfs.file('pci', '0000:18:00.0', 'iommu_group'));
    symlinkSync('../kernel/iommu_groups/8', sysfs.file('pci', '0000:00:00.0', 'iommu_group'));
    const reading = collector.read();
    const devices = reading === 'absent' ? [] : reading.devices;
    const places = devices.map(({ address, iommuGroup, count }) => ({ address, iommuGroup, count }));
    expect(places).toHaveLength(2);
    expect(places).toContainEqual({ address: '0000:18:00.0', iommuGroup: '7', count: 1 });
    expect(places).toContainEqual({ count: 1 });
  });

  test('takes virtual functions of an accelerator for what they are', () => {
    sysfs.pci('0000:18:00.4');
    symlinkSync('../0000:18:00.0', sysfs.file('pci', '0000:18:00.4', 'physfn'));
    const [virtual] = collector.read() === 'absent' ? [] : (collector.read() as DevicesRead).devices;
    expect(virtual).toMatchObject({ virtual: true });
    expect(virtual).not.toHaveProperty('address');
  });

  test('sees a driver being unbound and bound again, and the nodes that it makes', () => {
    sysfs.pci('0000:18:00.0');
    const look = () => (collector.read() as DevicesRead).devices[0];
    look();
    look();
    const driver = sysfs.file('pci', '0000:18:00.0', 'driver');
    symlinkSync('../../bus/pci/drivers/apex', driver);
    expect(look()?.driver).toBe('apex');
    look();
    mkdirSync(sysfs.file('pci', '0000:18:00.0', 'apex/apex_0'), { recursive: true });
    writeFileSync(sysfs.file('pci', '0000:18:00.0', 'apex/apex_0/uevent'), 'DEVNAME=apex_0\n');
    expect(look()?.nodes).toEqual(['apex_0']);
    look();
    rmSync(driver);
    expect(look()).not.toHaveProperty('driver');
  });

  test('sees at the next look what becomes of an accelerator among hundreds of other devices, which take turns', () => {
    for (let index = 0; index < 200; index += 1) {
      sysfs.pci(`0000:${index.toString(16).padStart(2, '0')}:00.0`, { class: '0x060000' });
    }
    // In the order of readdir it may be anywhere; so may the turn.
    const drivers = ['a', 'b', 'c', 'd', 'e', 'f'];
    sysfs.pci('0001:18:00.0');
    for (let look = 0; look < 4; look += 1) collector.read();
    const link = sysfs.file('pci', '0001:18:00.0', 'driver');
    const seen = drivers.map((driver) => {
      rmSync(link, { force: true });
      symlinkSync(`../../bus/pci/drivers/${driver}`, link);
      return (collector.read() as DevicesRead).devices.find(({ address }) => address !== undefined)?.driver;
    });
    expect(seen).toEqual(drivers);
  });

  test('sees a device come and go', () => {
    expect(read()).toEqual([]);
    sysfs.pci('0000:00:01.0');
    expect(read()).toHaveLength(1);
    sysfs.remove('pci', '0000:00:01.0');
    expect(read()).toEqual([]);
  });

  test('is not disturbed by what should not be there', () => {
    sysfs.pci('0000:00:01.0');
    writeFileSync(`${sysfs.bus('pci')}/file`, 'junk');
    mkdirSync(`${sysfs.bus('pci')}/folder/device`, { recursive: true });
    symlinkSync('missing', `${sysfs.bus('pci')}/broken`);
    symlinkSync('loop', `${sysfs.bus('pci')}/loop`);
    expect(read()).toHaveLength(1);
  });

  test('tells a machine without the bus from a bus that cannot be read', () => {
    rmSync(`${sysfs.root}/bus/pci`, { recursive: true });
    expect(read()).toBe('absent');
    rmSync(`${sysfs.root}/bus`, { recursive: true });
    expect(read).toThrow(`there is no sysfs at ${sysfs.root}`);
  });
});

const REAL = '/sys/bus/pci/devices';

test.runIf(files.list(REAL))('the PCI collector reads the devices of this machine', () => {
  collector = createPciCollector({ ...hostOf(sysfs, files), sysfsRoot: '/sys' });
  const devices = read();
  expect(devices).toHaveLength(readdirSync(REAL).length);
  for (const attributes of devices) {
    expect(attributes).toEqual({
      class: expect.stringMatching(/^[0-9a-f]{4}$/),
      vendor: expect.stringMatching(/^[0-9a-f]{4}$/),
      device: expect.stringMatching(/^[0-9a-f]{4}$/),
      subsystem_vendor: expect.stringMatching(/^[0-9a-f]{4}$/),
      subsystem_device: expect.stringMatching(/^[0-9a-f]{4}$/),
      ...(typeof attributes === 'object' && 'sriov_totalvfs' in attributes
        ? { sriov_totalvfs: expect.stringMatching(/^\d+$/) }
        : {}),
    });
  }
});
