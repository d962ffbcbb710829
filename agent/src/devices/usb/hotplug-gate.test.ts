import { rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeSysfs } from '../testing/fake-sysfs.ts';
import { canHearHotplug } from './hotplug-gate.ts';

const NODE = '10.0.0.7';

let own: FakeSysfs;
let other: FakeSysfs;

beforeEach(() => {
  own = new FakeSysfs();
  other = new FakeSysfs();
});

afterEach(() => {
  own.dispose();
  other.dispose();
});

function canHear(sysfsRoot: string, addresses: readonly string[] = ['127.0.0.1', '::1', NODE]): boolean {
  return canHearHotplug({ sysfsRoot, hostIp: NODE }, { sysfs: own.root, addresses: () => [...addresses] });
}

describe('hot-plug events', () => {
  test('can be heard with the network of the node', () => {
    expect(canHear(own.root)).toBe(true);
  });

  test('can be heard where the sysfs of the node is mounted elsewhere, as for its device tree', () => {
    const mounted = path.join(own.directory, 'host-sys');
    symlinkSync(own.root, mounted);
    expect(canHear(mounted)).toBe(true);
  });

  test('cannot be heard in a pod with a network of its own', () => {
    expect(canHear(own.root, ['127.0.0.1', '::1', '10.244.1.17'])).toBe(false);
  });

  test('would be about another machine where the root belongs to one', () => {
    expect(canHear(other.root)).toBe(false);
  });

  test('cannot come without a USB bus, or without a sysfs', () => {
    rmSync(own.bus('usb'), { recursive: true });
    expect(canHear(own.root)).toBe(false);
    expect(canHear(path.join(own.directory, 'missing'))).toBe(false);
  });

  test('can come on this machine only if it has a USB bus', () => {
    expect(canHearHotplug({ sysfsRoot: own.root, hostIp: '127.0.0.1' })).toBe(false);
    expect(canHearHotplug({ sysfsRoot: '/sys', hostIp: '192.0.2.1' })).toBe(false);
  });
});
