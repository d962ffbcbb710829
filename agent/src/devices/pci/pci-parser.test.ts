import { describe, expect, test } from 'vitest';
import { type PciFiles, parsePciDevice } from './pci-parser.ts';

const GPU: PciFiles = {
  class: '0x030200\n',
  vendor: '0x10DE\n',
  device: '0x20b0\n',
  subsystem_vendor: '0x10de\n',
  subsystem_device: '0x1450\n',
  sriov_totalvfs: undefined,
  driver: undefined,
  isVirtual: false,
};

describe('parsePciDevice', () => {
  test('takes the first four digits of the class, and ids without prefix in lower case', () => {
    expect(parsePciDevice(GPU)).toEqual({
      bus: 'pci',
      attributes: {
        class: '0302',
        vendor: '10de',
        device: '20b0',
        subsystem_vendor: '10de',
        subsystem_device: '1450',
      },
      count: 1,
    });
  });

  test('tells its driver, and whether it is a virtual function', () => {
    expect(parsePciDevice({ ...GPU, driver: 'nvidia', isVirtual: true })).toMatchObject({
      driver: 'nvidia',
      virtual: true,
    });
  });

  test('tells how many virtual functions there can be', () => {
    expect(parsePciDevice({ ...GPU, sriov_totalvfs: '16\n' })?.attributes).toMatchObject({ sriov_totalvfs: '16' });
    expect(parsePciDevice({ ...GPU, sriov_totalvfs: 'many' })?.attributes).not.toHaveProperty('sriov_totalvfs');
  });

  test.each(['class', 'vendor', 'device', 'subsystem_vendor', 'subsystem_device'])('needs %s', (attribute) => {
    for (const text of [undefined, '', '\n', 'junk', '0x1', '0x10de10de1', '\0\0\0\0']) {
      expect(parsePciDevice({ ...GPU, [attribute]: text })).toBeUndefined();
    }
  });
});
