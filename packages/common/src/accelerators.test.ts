import { describe, expect, test } from 'vitest';
import { ACCELERATORS, busesOfIdentity, identitiesIn, identityOf } from './accelerators.ts';
import { isLabelKey } from './label-syntax.ts';
import { DEVICE_BUSES } from './report.ts';
import { DEVICE_IDENTITY_PREFIX } from './well-known.ts';

const usb = (vendor: string, device: string, deviceClass: string) =>
  identityOf({ bus: 'usb', attributes: { class: deviceClass, vendor, device } });
const pci = (vendor: string, device: string, deviceClass: string) =>
  identityOf({ bus: 'pci', attributes: { class: deviceClass, vendor, device } });

describe('the identity of a device', () => {
  test('stays when a Coral comes back from its first use with another id', () => {
    expect([usb('1a6e', '089a', 'fe'), usb('18d1', '9302', 'ff')]).toEqual(['edgetpu', 'edgetpu']);
  });

  test('stays when a Myriad X has booted', () => {
    expect([usb('03e7', '2485', 'ff'), usb('03e7', 'f63b', 'ef')]).toEqual(['ncs2', 'ncs2']);
  });

  test('of a Coral on PCIe does not hang on its class, which depends on the kernel', () => {
    expect([pci('1ac1', '089a', '0880'), pci('1ac1', '089a', '0000')]).toEqual(['edgetpu', 'edgetpu']);
  });

  test('of a Coral Dev Board is in its device tree, whichever kernel it runs', () => {
    expect(identityOf({ bus: 'device-tree', attributes: { compatible: 'fsl,imx8mq-phanbell' } })).toBe('edgetpu');
    expect(identityOf({ bus: 'device-tree', attributes: { compatible: 'google,imx8mq-phanbell' } })).toBe('edgetpu');
    expect(identityOf({ bus: 'device-tree', attributes: { compatible: 'fsl,imx8mq' } })).toBeUndefined();
  });

  test('of one on the chip comes from its node, and from its name where GPUs have the same compatible', () => {
    const onChip = (compatible: string, node: string) =>
      identityOf({ bus: 'device-tree', attributes: { compatible, node }, address: `/soc@0/${node}@1` });
    expect(onChip('nvidia,ga10b', 'gpu')).toBe('jetson-gpu');
    expect(onChip('rockchip,rk3588-rknpu', 'npu')).toBe('rockchip-npu');
    expect([onChip('vivante,gc', 'npu'), onChip('vivante,gc', 'gpu')]).toEqual(['vivante-npu', undefined]);
    expect(onChip('fsl,imx8mq-phanbell', 'board')).toBeUndefined();
  });

  test('is undefined for compatible strings alone, which do not show a status', () => {
    expect(identityOf({ bus: 'device-tree', attributes: { compatible: 'nvidia,ga10b', count: '1' } })).toBeUndefined();
  });

  test('comes from its vendor and class when the table has no id for it', () => {
    expect(pci('10de', '2330', '0302')).toBe('nvidia-gpu');
    expect(pci('1002', '1638', '0300')).toBe('amd-gpu');
  });

  test('by its id goes before that by its vendor and class', () => {
    expect(pci('1002', '74a1', '1200')).toBe('amd-instinct');
  });

  test('is none for other functions of a known vendor', () => {
    expect(pci('10de', '22a3', '0680')).toBeUndefined();
    expect(usb('18d1', '4ee1', '00')).toBeUndefined();
  });

  test('is none for the same numbers on another bus', () => {
    expect(pci('1a6e', '089a', 'fe')).toBeUndefined();
    expect(usb('1ac1', '089a', '0880')).toBeUndefined();
    expect(usb('10de', '2330', '0302')).toBeUndefined();
  });

  test('is none for a device that says nothing of itself', () => {
    for (const bus of ['usb', 'pci', 'device-tree'] as const) {
      expect(identityOf({ bus, attributes: {} })).toBeUndefined();
    }
  });
});

describe('an identity', () => {
  test('is all of its kinds, and nothing where it is not in the table', () => {
    const wide = ACCELERATORS.find(({ includes }) => includes !== undefined);
    expect(identitiesIn(wide?.name ?? '')).toEqual([wide?.name, ...(wide?.includes ?? [])]);
    expect(identitiesIn('ncs2')).toEqual(['ncs2']);
    expect(identitiesIn('abacus')).toEqual([]);
  });

  test('may be on the buses for which the table has an id of it, and on any where it is not in the table', () => {
    expect(busesOfIdentity('ncs2')).toEqual(['usb']);
    expect(busesOfIdentity('nvidia-gpu')).toEqual(['pci']);
    expect(busesOfIdentity('jetson-gpu')).toEqual(['device-tree']);
    expect(busesOfIdentity('edgetpu')).toEqual(['usb', 'pci', 'device-tree']);
    expect(busesOfIdentity('abacus')).toEqual(DEVICE_BUSES);
  });
});

describe('the table of accelerators', () => {
  const ids = ACCELERATORS.flatMap(({ usb = [], pci = [], deviceTree = [], onChip = [] }) => [
    ...onChip.map((entry) => `on-chip ${typeof entry === 'string' ? entry : `${entry.compatible}@${entry.node}`}`),
    ...usb.map((id) => `usb ${id}`),
    ...deviceTree.map((compatible) => `device-tree ${compatible}`),
    ...pci.flatMap((entry) =>
      typeof entry === 'string'
        ? [`pci ${entry}`]
        : entry.classes.map((code) => `pci class ${code} of vendor ${entry.vendor}`),
    ),
  ]);
  const repeated = (values: readonly string[]) => values.filter((value, index) => values.indexOf(value) !== index);

  test('gives no id to two identities', () => {
    expect(repeated(ids)).toEqual([]);
  });

  test('writes ids as the kernel does', () => {
    const written =
      /^(usb|pci) [0-9a-f]{4}:[0-9a-f]{4}$|^pci class [0-9a-f]{4} of vendor [0-9a-f]{4}$|^(device-tree|on-chip) [a-z0-9-]+,[a-z0-9-]+(@[a-z]+)?$/;
    expect(ids.filter((id) => !written.test(id))).toEqual([]);
  });

  test('has a name for each that can be a label, once', () => {
    const names = ACCELERATORS.map(({ name }) => name);
    expect(repeated(names)).toEqual([]);
    expect(names.filter((name) => !/^[a-z0-9-]+$/.test(name))).toEqual([]);
    expect(names.filter((name) => !isLabelKey(`${DEVICE_IDENTITY_PREFIX}${name}`))).toEqual([]);
  });

  test('says of each where its ids are from', () => {
    expect(ACCELERATORS.filter(({ title, source }) => title === '' || source === '')).toEqual([]);
  });

  test('has something for each by which it is known', () => {
    const isKnown = ({ usb, pci, deviceTree, onChip, includes }: (typeof ACCELERATORS)[number]) =>
      [usb, pci, deviceTree, onChip, includes].some((list = []) => list.length > 0);
    expect(ACCELERATORS.filter((accelerator) => !isKnown(accelerator))).toEqual([]);
  });

  test('includes only identities that it has', () => {
    const names = new Set(ACCELERATORS.map(({ name }) => name));
    const included = ACCELERATORS.flatMap(({ includes = [] }) => includes);
    expect(included).not.toEqual([]);
    expect(included.filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('a label of NFD in the table', () => {
  const owners = new Map<string, Set<string>>();
  for (const { name, pci = [] } of ACCELERATORS) {
    for (const entry of pci) {
      const vendor = typeof entry === 'string' ? entry.slice(0, 4) : entry.vendor;
      owners.set(vendor, (owners.get(vendor) ?? new Set()).add(name));
    }
  }

  test('names a device on USB by an id that is in the table, in a class that NFD looks at', () => {
    for (const { nfd = [], usb = [] } of ACCELERATORS) {
      for (const label of nfd.filter((name) => name.startsWith('usb-'))) {
        const [, vendor, device] = /^usb-(?:0e|ef|fe|ff)_([0-9a-f]{4})_([0-9a-f]{4})$/.exec(label) ?? [];
        expect(usb).toContain(`${vendor}:${device}`);
      }
    }
  });

  test('names one on PCI by a vendor that makes nothing else in the table', () => {
    for (const { name, nfd = [] } of ACCELERATORS) {
      for (const label of nfd.filter((other) => !other.startsWith('usb-'))) {
        const [, vendor = ''] = /^pci-[0-9a-f]{4}_([0-9a-f]{4})$/.exec(label) ?? [];
        expect([...(owners.get(vendor) ?? [])]).toEqual([name]);
      }
    }
  });
});
