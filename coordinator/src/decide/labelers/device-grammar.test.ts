import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { busesOf, type DeviceGrammar, deviceLabels } from './device-grammar.ts';

const NFD = 'feature.node.kubernetes.io/';
/** As NFD has it, without what rollcall adds. */
const PCI = { deviceClassWhitelist: ['03', '0b40', '12'], deviceLabelFields: ['class', 'vendor'] };
const USB = { deviceClassWhitelist: ['0e', 'ef', 'fe', 'ff'], deviceLabelFields: ['class', 'vendor', 'device'] };

function pci(code: string, vendor: string, more: Record<string, string> = {}): DeviceReport {
  const subsystem = { subsystem_vendor: '1a03', subsystem_device: '2000' };
  return { bus: 'pci', attributes: { class: code, vendor, device: '1234', ...subsystem, ...more } };
}

function usb(code: string, vendor: string, device: string, more: Record<string, string> = {}): DeviceReport {
  return { bus: 'usb', attributes: { class: code, vendor, device, ...more } };
}

function deviceTree(compatible: string, count = '1'): DeviceReport {
  return { bus: 'device-tree', attributes: { compatible, count } };
}

/** The machine that NFD tests with: graphics, a QAT card with virtual functions, and a bus. */
const MACHINE = [pci('0300', '1a03'), pci('0b40', '8086', { sriov_totalvfs: '16' }), pci('0c80', '8086')];

function keys(devices: readonly DeviceReport[], grammar: Partial<DeviceGrammar> = {}): string[] {
  return [...deviceLabels(devices, { labels: 'all', pci: PCI, usb: USB, ...grammar }).keys()].map((key) =>
    key.replace(NFD, ''),
  );
}

describe('labels of PCI devices', () => {
  test('NF-1 NF-6 no devices are no labels', () => {
    expect(keys([])).toEqual([]);
  });

  test('NF-2 are those that NFD gives by default', () => {
    expect(keys(MACHINE)).toEqual(['pci-0300_1a03.present', 'pci-0b40_8086.present', 'pci-0b40_8086.sriov.capable']);
  });

  test('NF-3 are for the classes on the list, and without fields as by default', () => {
    const grammar = { pci: { deviceClassWhitelist: ['0c'], deviceLabelFields: [] } };
    expect(keys(MACHINE, grammar)).toEqual(['pci-0c80_8086.present']);
  });

  test('NF-4 are as by default where no field is one', () => {
    const grammar = { pci: { deviceClassWhitelist: ['0c'], deviceLabelFields: ['foo', 'bar'] } };
    expect(keys(MACHINE, grammar)).toEqual(['pci-0c80_8086.present']);
  });

  test('NF-5 are made of the fields that are known, in NFD’s order', () => {
    const fields = (...deviceLabelFields: string[]) => ({ pci: { deviceClassWhitelist: ['0c'], deviceLabelFields } });
    expect(keys(MACHINE, fields('foo', 'class'))).toEqual(['pci-0c80.present']);
    const all = fields('subsystem_device', 'device', 'vendor', 'subsystem_vendor', 'class');
    expect(keys(MACHINE, all)).toEqual(['pci-0c80_8086_1234_1a03_2000.present']);
  });

  test('go by the list whatever the case of its letters', () => {
    const grammar = { pci: { deviceClassWhitelist: ['0B40'], deviceLabelFields: ['class'] } };
    expect(keys([pci('0b40', '8086')], grammar)).toEqual(['pci-0b40.present']);
  });
});

test('labels of USB devices have the serial number where it is asked for, and are left out where it is no label', () => {
  const grammar = { usb: { ...USB, deviceLabelFields: ['vendor', 'device', 'serial'] } };
  expect(keys([usb('ff', 'abcd', '0001', { serial: 'A1' })], grammar)).toEqual(['usb-abcd_0001_A1.present']);
  expect(keys([usb('ff', 'abcd', '0001', { serial: 'a b/ü' })], grammar)).toEqual([]);
  expect(keys([usb('03', 'abcd', '0001')])).toEqual([]);
});

test('DT-1 DT-2 labels of a device tree say the vendor with a dash, Xilinx by its name, and how often it is there', () => {
  const tree = [deviceTree('xlnx,zynq-7000'), deviceTree('arm,cortex-a53', '4'), deviceTree('simple-bus')];
  tree.push(deviceTree('a,b,c', '2'), deviceTree('a,b,d'));
  const labels = deviceLabels(tree, { labels: 'all', pci: PCI, usb: USB });
  expect([...labels].map(([key, { value }]) => `${key}=${value}`)).toEqual([
    'beta.devicetree.org/xilinx-zynq-7000=1',
    'beta.devicetree.org/arm-cortex-a53=4',
    'beta.devicetree.org/simple-bus=1',
    'beta.devicetree.org/a-b=3',
  ]);
});

test('labels of a device tree are for all hardware alone, and of its own devices', () => {
  const board = [deviceTree('fsl,imx8mq-phanbell'), deviceTree('arm,cortex-a53', '4')];
  expect(keys(board, { labels: 'known' })).toEqual(['device.rollcall.dev/edgetpu']);
  expect(keys([pci('0300', '1a03', { compatible: 'a,b', count: '1' })])).toEqual(['pci-0300_1a03.present']);
});

test('an Edge TPU is one identity on USB before and after its first use, on PCIe and on the Dev Board', () => {
  const forms = [
    [usb('fe', '1a6e', '089a'), 'usb-fe_1a6e_089a.present'],
    [usb('ff', '18d1', '9302'), 'usb-ff_18d1_9302.present'],
    [pci('0880', '1ac1', { device: '089a' }), undefined],
    [deviceTree('fsl,imx8mq-phanbell'), 'beta.devicetree.org/fsl-imx8mq-phanbell'],
  ] as const;
  for (const [device, nfd] of forms) {
    expect(keys([device])).toEqual([...(nfd === undefined ? [] : [nfd]), 'device.rollcall.dev/edgetpu']);
  }
});

test('no device, however odd, gives a label that the API server would refuse', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constantFrom('0300', 'ff', '1a6e', '089a'));
  const names = fc.constantFrom('class', 'vendor', 'device', 'serial', 'compatible', 'count', 'sriov_totalvfs');
  const bus = fc.constantFrom('usb', 'pci', 'device-tree');
  const device = fc.record({ bus, attributes: fc.dictionary(names, text) });
  const grammar: DeviceGrammar = {
    labels: 'all',
    pci: { ...PCI, deviceClassWhitelist: [''] },
    usb: { ...USB, deviceClassWhitelist: [''] },
  };
  fc.assert(
    fc.property(fc.array(device as fc.Arbitrary<DeviceReport>), (devices) => {
      for (const [key, { value }] of deviceLabels(devices, grammar)) {
        expect(isLabelKey(key) && isLabelValue(value)).toBe(true);
        expect(busesOf(key)).not.toEqual([]);
      }
    }),
    { numRuns: 2000 },
  );
});
