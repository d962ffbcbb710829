import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openHostFiles } from '../host-files.ts';
import { FakeSysfs, hostOf } from '../testing/fake-sysfs.ts';
import type { BusReading } from '../types.ts';
import { createDeviceTreeCollector } from './device-tree-collector.ts';

const files = openHostFiles();
let sysfs: FakeSysfs;

beforeEach(() => {
  sysfs = new FakeSysfs([]);
});

afterEach(() => sysfs.dispose());

function read() {
  const reading = createDeviceTreeCollector(hostOf(sysfs, files)).read();
  return reading === 'absent' ? reading : counts(reading.devices);
}

function devicesOf(reading: BusReading) {
  return reading === 'absent' ? [] : reading.devices;
}

function counts(devices: readonly { attributes: Record<string, string> }[]) {
  const counted = devices.filter(({ attributes }) => 'count' in attributes);
  return Object.fromEntries(counted.map(({ attributes }) => [attributes['compatible'], attributes['count']]));
}

describe('the device tree collector', () => {
  test('counts further nodes that are named', () => {
    sysfs.node('', ['xlnx,zynqmp']);
    sysfs.node('amba/sata@fd0c0000', ['ceva,ahci-1v84']);
    sysfs.node('amba/i2c@ff020000', ['cdns,i2c-r1p14']);
    const reading = createDeviceTreeCollector({ ...hostOf(sysfs, files), deviceTreeNodes: ['sata'] }).read();
    expect(counts(devicesOf(reading))).toEqual({ 'xlnx,zynqmp': '1', 'ceva,ahci-1v84': '1' });
  });

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

  test('has nothing that is being set up, and leaves nothing of a small tree out', () => {
    sysfs.node('', ['google,edgetpu']);
    const collector = createDeviceTreeCollector(hostOf(sysfs, files));
    expect(collector.read()).toMatchObject({ settling: false, leftOut: 0 });
    expect(collector.validMs).toBe(60_000);
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
    expect(createDeviceTreeCollector(hostOf(sysfs, files)).read()).toMatchObject({ leftOut: 1 });
  });

  test('gives the same reading while nothing changes, and looks at no more than it has to', () => {
    sysfs.node('', ['a']);
    sysfs.node('cpus/cpu@0', ['b']);
    for (const node of [0, 1, 2, 3]) sysfs.node(`soc/other@${node}`, ['c']);
    const directories = vi.fn(files.directories);
    const collector = createDeviceTreeCollector(hostOf(sysfs, { ...files, directories }));
    const before = collector.read();
    directories.mockClear();
    expect(collector.read()).toBe(before);
    expect(directories).not.toHaveBeenCalled();
    // Nor is it news that all of the tree was walked again.
    for (let minute = 0; minute < 150; minute += 1) expect(collector.read()).toBe(before);
    expect(directories.mock.calls.filter(([directory]) => directory.endsWith('/soc'))).toHaveLength(2);
  });

  test.each([
    ['the board', ''],
    ['a CPU', 'cpus/cpu@0'],
  ])('sees at once that %s is another', (_what, node) => {
    sysfs.node('', ['a']);
    sysfs.node('cpus/cpu@0', ['b']);
    const collector = createDeviceTreeCollector(hostOf(sysfs, files));
    const before = collector.read();
    sysfs.node(node, ['new']);
    expect(counts(devicesOf(collector.read()))).toHaveProperty('new', '1');
    expect(collector.read()).not.toBe(before);
  });

  test('sees within an hour what was added anywhere', () => {
    sysfs.node('', ['a']);
    sysfs.node('soc', ['b']);
    const collector = createDeviceTreeCollector(hostOf(sysfs, files));
    collector.read();
    sysfs.node('soc/gpu@1', ['c']);
    let readings = 1;
    while (!('c' in counts(devicesOf(collector.read()))) && readings < 100) readings += 1;
    expect(readings).toBeLessThanOrEqual(60);
  });

  describe('accelerators on the chip', () => {
    const tree = (...parts: string[]) => path.join(sysfs.procfs, 'device-tree', ...parts);
    const platform = (name: string, ...parts: string[]) =>
      path.join(sysfs.root, 'bus/platform/devices', name, ...parts);
    const onChip = (collector = createDeviceTreeCollector(hostOf(sysfs, files))) =>
      devicesOf(collector.read()).filter(({ address }) => address !== undefined);

    function npu(address: string, ...compatible: string[]): void {
      sysfs.node(`npu@${address}`, compatible);
      mkdirSync(platform(`${address}.npu`), { recursive: true });
      symlinkSync(`../../../firmware/devicetree/base/npu@${address}`, platform(`${address}.npu`, 'of_node'));
    }

    beforeEach(() => sysfs.node('', ['radxa,rock-5b', 'rockchip,rk3588']));

    test('are found anywhere in the tree, with what the kernel has made of them', () => {
      npu('fdab0000', 'rockchip,rk3588-rknpu', 'rockchip,rknpu');
      symlinkSync('../../../bus/platform/drivers/RKNPU', platform('fdab0000.npu', 'driver'));
      mkdirSync(platform('fdab0000.npu', 'drm/renderD129'), { recursive: true });
      writeFileSync(platform('fdab0000.npu', 'drm/renderD129/uevent'), 'DEVNAME=dri/renderD129\n');
      sysfs.node('soc@0/bus@30000000/npu@38500000', ['vivante,gc']);
      sysfs.node('soc@0/gpu@38000000', ['vivante,gc']);
      expect(onChip()).toEqual([
        {
          bus: 'device-tree',
          attributes: { compatible: 'rockchip,rk3588-rknpu', node: 'npu' },
          count: 1,
          driver: 'RKNPU',
          address: '/npu@fdab0000',
          nodes: ['dri/renderD129'],
        },
        {
          bus: 'device-tree',
          attributes: { compatible: 'vivante,gc', node: 'npu' },
          count: 1,
          address: '/soc@0/bus@30000000/npu@38500000',
        },
      ]);
    });

    test.each([
      ['okay\0', true],
      ['ok\0', true],
      ['disabled\0', false],
      ['fail\0', false],
      ['', false],
    ])('are there with the status %j: %s', (status, isThere) => {
      npu('fdab0000', 'rockchip,rk3588-rknpu');
      writeFileSync(tree('npu@fdab0000', 'status'), status);
      expect(onChip()).toHaveLength(isThere ? 1 : 0);
    });

    test('are not there below what is switched off', () => {
      sysfs.node('soc@0/npu@1', ['arm,ethos-u65']);
      writeFileSync(tree('soc@0/status'), 'disabled\0');
      expect(onChip()).toEqual([]);
    });

    test('lose and regain their driver within a second, whatever else is not looked at', () => {
      npu('fdab0000', 'rockchip,rk3588-rknpu');
      const link = platform('fdab0000.npu', 'driver');
      const directories = vi.fn(files.directories);
      const collector = createDeviceTreeCollector(hostOf(sysfs, { ...files, directories }));
      expect(onChip(collector)).toMatchObject([{ address: '/npu@fdab0000' }]);
      expect(collector.validMs).toBe(0);
      directories.mockClear();
      symlinkSync('../../../bus/platform/drivers/RKNPU', link);
      expect(onChip(collector)).toMatchObject([{ driver: 'RKNPU' }]);
      const before = collector.read();
      expect(collector.read()).toBe(before);
      rmSync(link);
      expect(onChip(collector)[0]).not.toHaveProperty('driver');
      expect(directories.mock.calls.flat().filter((each) => each.startsWith(sysfs.procfs))).toEqual([]);
    });

    test('have a driver within a minute after the kernel has made a device of them, and are no news until then', () => {
      sysfs.node('npu@fdab0000', ['rockchip,rk3588-rknpu']);
      const collector = createDeviceTreeCollector(hostOf(sysfs, files));
      const before = collector.read();
      for (let second = 0; second < 100; second += 1) expect(collector.read()).toBe(before);
      npu('fdab0000', 'rockchip,rk3588-rknpu');
      symlinkSync('../../../bus/platform/drivers/RKNPU', platform('fdab0000.npu', 'driver'));
      for (let second = 0; second < 60; second += 1) collector.read();
      expect(onChip(collector)).toMatchObject([{ address: '/npu@fdab0000', driver: 'RKNPU' }]);
    });

    test('are looked at in every scan, but the tree only once a minute', () => {
      npu('fdab0000', 'rockchip,rk3588-rknpu');
      const text = vi.fn(files.text);
      const collector = createDeviceTreeCollector(hostOf(sysfs, { ...files, text }));
      const looked = Array.from({ length: 200 }, () => {
        text.mockClear();
        collector.read();
        return text.mock.calls.flat().some((each) => each.startsWith(sysfs.procfs));
      });
      expect(looked.flatMap((isLook, scan) => (isLook ? [scan] : []))).toEqual([0, 38, 76, 114, 152, 190]);
    });
  });

  test('becomes absent with the tree, and comes back with it', () => {
    sysfs.node('', ['a']);
    const collector = createDeviceTreeCollector(hostOf(sysfs, files));
    collector.read();
    rmSync(path.join(sysfs.procfs, 'device-tree'), { recursive: true });
    expect(collector.read()).toBe('absent');
    sysfs.node('', ['a']);
    expect(counts(devicesOf(collector.read()))).toEqual({ a: '1' });
  });
});
