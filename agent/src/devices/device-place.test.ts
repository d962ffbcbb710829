import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { boundDriver, placeOf } from './device-place.ts';
import { openHostFiles } from './host-files.ts';
import { FakeSysfs } from './testing/fake-sysfs.ts';

const files = openHostFiles();
let sysfs: FakeSysfs;
let device: string;

beforeEach(() => {
  sysfs = new FakeSysfs();
  sysfs.pci('0000:18:00.0');
  device = path.join(sysfs.bus('pci'), '0000:18:00.0');
});

afterEach(() => sysfs.dispose());

function put(file: string, content: string): void {
  const target = path.join(device, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, content);
}

function link(name: string, target: string): void {
  mkdirSync(path.dirname(path.join(device, name)), { recursive: true });
  symlinkSync(target, path.join(device, name));
}

const place = () => placeOf(files, device, '0000:18:00.0');

describe('the place of a device', () => {
  test('is its address, and what the kernel tells besides', () => {
    put('numa_node', '1\n');
    link('iommu_group', '../../../kernel/iommu_groups/41');
    expect(place()).toEqual({ address: '0000:18:00.0', numaNode: 1, iommuGroup: '41' });
  });

  test('has no NUMA node where the firmware does not say', () => {
    put('numa_node', '-1\n');
    expect(place()).toEqual({ address: '0000:18:00.0' });
  });

  test('has the device nodes of the classes below it', () => {
    put('uevent', 'DRIVER=apex\nPCI_CLASS=FF\n');
    put('apex/apex_0/uevent', 'MAJOR=120\nMINOR=0\nDEVNAME=apex_0\n');
    put('drm/card1/uevent', 'DEVNAME=dri/card1\nDEVTYPE=drm_minor\n');
    put('drm/renderD129/uevent', 'DEVNAME=dri/renderD129\n');
    put('power/control', 'auto\n');
    expect(place().nodes).toEqual(['apex_0', 'dri/card1', 'dri/renderD129']);
  });

  test('has its own node and the nodes of its interfaces, but no node of a device behind it', () => {
    put('uevent', 'DEVTYPE=usb_device\nDEVNAME=bus/usb/001/004\n');
    put('1-2:1.0/video4linux/video0/uevent', 'DEVNAME=video0\n');
    link('1-2:1.0/subsystem', '../../../../../bus/usb');
    put('1-2.4/uevent', 'DEVNAME=bus/usb/001/009\n');
    link('1-2.4/subsystem', '../../../../../bus/usb');
    expect(place().nodes).toEqual(['bus/usb/001/004', 'video0']);
  });

  test('does not go on for ever, nor round in a circle', () => {
    for (let index = 0; index < 300; index += 1) put(`leds/each${index}/uevent`, `DEVNAME=each${index}\n`);
    link('leds/up', '..');
    put('a/b/c/d/uevent', 'DEVNAME=too-deep\n');
    expect(place().nodes).toHaveLength(16);
  });

  test('is told without what is no text', () => {
    put('uevent', 'DEVNAME=\u0007\n');
    put('leds/one/uevent', 'DEVNAME=../../etc/passwd\n');
    link('iommu_group', '../none');
    put('numa_node', 'many\n');
    expect(place()).toEqual({ address: '0000:18:00.0' });
  });
});

describe('the driver of a device', () => {
  test('is where its link leads, and none without', () => {
    expect(boundDriver(files, device)).toBeUndefined();
    link('driver', '../../../bus/pci/drivers/nvidia');
    expect(boundDriver(files, device)).toBe('nvidia');
  });

  const real = '/sys/bus/pci/devices';
  test.runIf(existsSync(real))('is what the drivers of this machine say of its devices', () => {
    const bound = (name: string) => boundDriver(files, `${real}/${name}`);
    const drivers = '/sys/bus/pci/drivers';
    const told = existsSync(drivers)
      ? readdirSync(drivers).flatMap((driver) =>
          readdirSync(`${drivers}/${driver}`)
            .filter((name) => existsSync(`${real}/${name}`))
            .map((name) => [name, driver] as const),
        )
      : [];
    const seen = readdirSync(real).flatMap((name) => {
      const driver = bound(name);
      return driver === undefined ? [] : [[name, driver] as const];
    });
    expect(seen.sort()).toEqual(told.sort());
    for (const [name] of seen) expect(realpathSync(`${real}/${name}`)).toContain(name);
  });
});
