import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { identityOf } from '@rollcall/common/accelerators.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';
import { type HostFiles, openHostFiles } from '../host-files.ts';
import type { BusHost } from '../types.ts';

type Bus = 'usb' | 'pci';
export type Attributes = Readonly<Record<string, string>>;

export type UsbDevice = {
  vendor: string;
  device: string;
  class?: string;
  serial?: string;
  /** Classes of its interfaces, by number. */
  interfaces?: readonly string[];
};

/** A directory that is built like sysfs and procfs: the entries of a bus are links to devices that are elsewhere. */
export class FakeSysfs {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'rollcall-sysfs-'));
  readonly root = path.join(this.directory, 'sys');
  readonly procfs = path.join(this.directory, 'proc');
  #devices = 0;

  constructor(buses: readonly Bus[] = ['usb', 'pci']) {
    mkdirSync(path.join(this.root, 'bus'), { recursive: true });
    mkdirSync(this.procfs);
    for (const bus of buses) mkdirSync(this.bus(bus), { recursive: true });
  }

  bus(bus: Bus): string {
    return path.join(this.root, 'bus', bus, 'devices');
  }

  /** Returns the path of a file of a device. */
  file(bus: Bus, name: string, attribute: string): string {
    return path.join(this.bus(bus), name, attribute);
  }

  usb(name: string, { vendor, device, class: code = '00', serial, interfaces = [] }: UsbDevice): void {
    const directory = this.#create({ bDeviceClass: code, idVendor: vendor, idProduct: device });
    if (serial !== undefined) writeFileSync(path.join(directory, 'serial'), `${serial}\n`);
    mkdirSync(path.join(directory, 'power'));
    symlinkSync(directory, path.join(this.bus('usb'), name));
    for (const [number, interfaceClass] of interfaces.entries()) this.addInterface(name, number, interfaceClass);
  }

  addInterface(name: string, number: number, interfaceClass: string): void {
    const child = path.join(realpathSync(this.file('usb', name, '.')), `${name}:1.${number}`);
    mkdirSync(child);
    writeFileSync(path.join(child, 'bInterfaceClass'), `${interfaceClass}\n`);
    symlinkSync(child, path.join(this.bus('usb'), `${name}:1.${number}`));
  }

  pci(name: string, attributes: Attributes = {}): void {
    const directory = this.#create({
      class: '0x030200',
      vendor: '0x10de',
      device: '0x20b0',
      subsystem_vendor: '0x10de',
      subsystem_device: '0x1450',
      ...attributes,
    });
    symlinkSync(directory, path.join(this.bus('pci'), name));
  }

  remove(bus: Bus, name: string): void {
    rmSync(path.join(this.bus(bus), name));
    for (let number = 0; bus === 'usb' && number < 8; number += 1) {
      rmSync(path.join(this.bus('usb'), `${name}:1.${number}`), { force: true });
    }
  }

  /** A node of the device tree in procfs; the root is the empty path. */
  node(name: string, compatible?: readonly string[]): void {
    const directory = path.join(this.procfs, 'device-tree', name);
    mkdirSync(directory, { recursive: true });
    if (compatible) writeFileSync(path.join(directory, 'compatible'), compatible.map((text) => `${text}\0`).join(''));
  }

  dispose(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  #create(attributes: Attributes): string {
    const directory = path.join(this.root, 'devices', String(this.#devices++));
    mkdirSync(directory, { recursive: true });
    for (const [name, text] of Object.entries(attributes)) writeFileSync(path.join(directory, name), `${text}\n`);
    return directory;
  }
}

/** A reader that takes it for a file waits until a writer opens it. */
export function makeFifo(file: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', file]);
}

/** The Coral stick before it is first used, and after. */
export const CORAL = { vendor: '1a6e', device: '089a', interfaces: ['fe'] } as const satisfies UsbDevice;
export const CORAL_USED = { vendor: '18d1', device: '9302', interfaces: ['ff'] } as const satisfies UsbDevice;

/** What a collector is opened with to look at it. */
export function hostOf(sysfs: FakeSysfs, files: HostFiles = openHostFiles(), onLateNews = () => {}): BusHost {
  const isAccelerator = (device: DeviceReport) => identityOf(device) !== undefined;
  return { sysfsRoot: sysfs.root, procfsRoot: sysfs.procfs, files, isAccelerator, onLateNews };
}

/** Remembers which files were read. */
export function recordingFiles(files: HostFiles): HostFiles & { taken: () => string[] } {
  let read: string[] = [];
  return {
    ...files,
    text(file) {
      read.push(file);
      return files.text(file);
    },
    taken() {
      const taken = read;
      read = [];
      return taken;
    },
  };
}
