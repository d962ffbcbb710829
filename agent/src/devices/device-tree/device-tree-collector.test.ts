import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openHostFiles } from '../host-files.ts';
import { FakeSysfs } from '../testing/fake-sysfs.ts';
import type { BusReading } from '../types.ts';
import { createDeviceTreeCollector } from './device-tree-collector.ts';

const files = openHostFiles();
let sysfs: FakeSysfs;

beforeEach(() => {
  sysfs = new FakeSysfs([]);
});

afterEach(() => sysfs.dispose());

function read() {
  const reading = createDeviceTreeCollector(sysfs.procfs, sysfs.root, files).read();
  return reading === 'absent' ? reading : counts(reading.devices);
}

function devicesOf(reading: BusReading) {
  return reading === 'absent' ? [] : reading.devices;
}

function counts(devices: readonly { attributes: Record<string, string> }[]) {
  return Object.fromEntries(devices.map(({ attributes }) => [attributes['compatible'], attributes['count']]));
}

describe('the device tree collector', () => {
  test('counts what the board, its CPUs and its GPUs are compatible with', () => {
    sysfs.node('', ['google,edgetpu', 'fsl,imx8mq-phanbell', 'fsl,imx8mq']);
    for (const cpu of [0, 1, 2, 3]) sysfs.node(`cpus/cpu@${cpu}`, ['arm,cortex-a53', 'arm,armv8']);
    sysfs.node('cpus/l2-cache0', ['cache']);
    sysfs.node('soc@0/bus@32c00000/gpu@38000000', ['vivante,gc']);
    expect(read()).toEqual({
      'google,edgetpu': '1',
      'fsl,imx8mq-phanbell': '1',
      'fsl,imx8mq': '1',
      'arm,cortex-a53': '4',
      'arm,armv8': '4',
      'vivante,gc': '1',
    });
  });

  test('takes the tree in sysfs where procfs has none', () => {
    symlinkSync('/nowhere/firmware/devicetree/base', path.join(sysfs.procfs, 'device-tree'));
    const base = path.join(sysfs.root, 'firmware/devicetree/base');
    mkdirSync(base, { recursive: true });
    writeFileSync(path.join(base, 'compatible'), 'raspberrypi,4-model-b\0brcm,bcm2711\0');
    expect(read()).toEqual({ 'raspberrypi,4-model-b': '1', 'brcm,bcm2711': '1' });
  });

  test('is absent on a machine that has none', () => {
    expect(read()).toBe('absent');
  });

  test.each(['procfs', 'root'] as const)('is not known without the %s where it would be', (place) => {
    rmSync(sysfs[place], { recursive: true });
    expect(read).toThrow(`there is nothing at ${sysfs[place]}`);
  });

  test('follows no links inside the tree, and does not go on for ever', () => {
    sysfs.node('', ['a']);
    sysfs.node('cpu@0', ['b']);
    const tree = path.join(sysfs.procfs, 'device-tree');
    symlinkSync('.', path.join(tree, 'cpu@1'));
    symlinkSync('../..', path.join(tree, 'cpu@0', 'up'));
    sysfs.node(`${'deep/'.repeat(40)}cpu@2`, ['c']);
    expect(read()).toEqual({ a: '1', b: '1' });
    expect(createDeviceTreeCollector(sysfs.procfs, sysfs.root, files).read()).toMatchObject({ leftOut: 1 });
  });

  test('gives the same reading while nothing changes, and looks at no more than it has to', () => {
    sysfs.node('', ['a']);
    sysfs.node('cpus/cpu@0', ['b']);
    for (const node of [0, 1, 2, 3]) sysfs.node(`soc/other@${node}`, ['c']);
    const directories = vi.fn(files.directories);
    const collector = createDeviceTreeCollector(sysfs.procfs, sysfs.root, { ...files, directories });
    const before = collector.read();
    directories.mockClear();
    expect(collector.read()).toBe(before);
    expect(directories).not.toHaveBeenCalled();
  });

  test.each([
    ['the board', ''],
    ['a CPU', 'cpus/cpu@0'],
  ])('sees at once that %s is another', (_what, node) => {
    sysfs.node('', ['a']);
    sysfs.node('cpus/cpu@0', ['b']);
    const collector = createDeviceTreeCollector(sysfs.procfs, sysfs.root, files);
    const before = collector.read();
    sysfs.node(node, ['new']);
    expect(counts(devicesOf(collector.read()))).toHaveProperty('new', '1');
    expect(collector.read()).not.toBe(before);
  });

  test('sees within an hour what was added anywhere', () => {
    sysfs.node('', ['a']);
    sysfs.node('soc', ['b']);
    const collector = createDeviceTreeCollector(sysfs.procfs, sysfs.root, files);
    collector.read();
    sysfs.node('soc/gpu@1', ['c']);
    let readings = 1;
    while (!('c' in counts(devicesOf(collector.read()))) && readings < 100) readings += 1;
    expect(readings).toBeLessThanOrEqual(60);
  });

  test('becomes absent with the tree, and comes back with it', () => {
    sysfs.node('', ['a']);
    const collector = createDeviceTreeCollector(sysfs.procfs, sysfs.root, files);
    collector.read();
    rmSync(path.join(sysfs.procfs, 'device-tree'), { recursive: true });
    expect(collector.read()).toBe('absent');
    sysfs.node('', ['a']);
    expect(counts(devicesOf(collector.read()))).toEqual({ a: '1' });
  });
});
