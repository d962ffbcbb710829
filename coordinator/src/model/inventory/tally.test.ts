import type { DeviceReport } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import { gpus } from './inventory.test-fixtures.ts';
import { combined, driverOf, NONE_SEEN, tallyDevices } from './tally.ts';

const coral = (change: Partial<DeviceReport> = {}): DeviceReport => ({
  bus: 'usb',
  attributes: { class: 'ff', vendor: '18d1', device: '9302' },
  count: 1,
  address: '1-2',
  ...change,
});
const coralOnPci: DeviceReport = {
  bus: 'pci',
  attributes: { class: '0880', vendor: '1ac1', device: '089a' },
  count: 1,
  driver: 'apex',
  address: '0000:01:00.0',
};
const board: DeviceReport = {
  bus: 'device-tree',
  attributes: { compatible: 'fsl,imx8mq-phanbell', count: '1' },
  count: 1,
};
const edgetpus = (...devices: DeviceReport[]) => tallyDevices(devices).get('edgetpu') ?? NONE_SEEN;

describe('the tally of an accelerator', () => {
  test('counts eight equal ones as eight, with their drivers', () => {
    const tallied = tallyDevices(gpus('nvidia', 'nvidia', '', 'nvidia')).get('nvidia-gpu');
    expect(tallied).toMatchObject({ count: 4 });
    expect(Object.fromEntries(tallied?.drivers ?? [])).toEqual({ nvidia: 3, '': 1 });
    expect(tallied?.places.get('pci 0000:28:00.0')).toBe('');
  });

  test('counts devices that are reported as a group', () => {
    const [one, many] = gpus('nvidia', 'nvidia');
    if (!one || !many) throw new Error('not two');
    const { address: _, ...group } = many;
    expect(tallyDevices([one, { ...group, count: 99 }]).get('nvidia-gpu')?.count).toBe(100);
  });

  test('counts one that has interfaces of several classes once', () => {
    const classes = ['fe', 'ff'].map((code) => coral({ attributes: { class: code, vendor: '18d1', device: '9302' } }));
    expect(edgetpus(...classes).count).toBe(1);
    expect(edgetpus(...classes, coral({ address: '1-3' })).count).toBe(2);
  });

  test('counts on all buses together', () => {
    expect(edgetpus(coral(), coralOnPci)).toMatchObject({ count: 2 });
  });

  test('takes a board for one, unless it is seen on a bus', () => {
    expect(edgetpus(board)).toMatchObject({ count: 1 });
    expect(edgetpus(board, coralOnPci).count).toBe(1);
    expect(edgetpus(board, coralOnPci, { ...coralOnPci, address: '0000:02:00.0' }).count).toBe(2);
  });

  test('leaves virtual functions out', () => {
    const virtual = gpus('nvidia').map((gpu) => ({ ...gpu, virtual: true as const, count: 16 }));
    expect(tallyDevices([...gpus('nvidia'), ...virtual]).get('nvidia-gpu')?.count).toBe(1);
  });

  test('of several kinds is the sum of their tallies', () => {
    const amd: DeviceReport = {
      bus: 'pci',
      attributes: { class: '1200', vendor: '1002', device: '74a1' },
      count: 8,
      driver: 'amdgpu',
    };
    const tally = tallyDevices([...gpus('nvidia'), amd]);
    expect(combined(tally, 'gpu').count).toBe(9);
    expect(driverOf(combined(tally, 'gpu'))).toBe('mixed');
    expect(combined(tally, 'gpu').drivers).toEqual(
      new Map([
        ['nvidia', 1],
        ['amdgpu', 8],
      ]),
    );
    expect(combined(tally, 'amd-gpu').count).toBe(8);
    expect(combined(tally, 'edgetpu')).toBe(NONE_SEEN);
  });
});

test.each([
  [['nvidia', 'nvidia'], 'nvidia'],
  [['nvidia', ''], 'mixed'],
  [['nvidia', 'vfio-pci'], 'mixed'],
  [['', ''], undefined],
  [['a,b'], 'mixed'],
  [['Hailo PCIe!'], 'Hailo-PCIe'],
  [['  '], undefined],
])('the driver of all, where they have %j, is %s', (drivers, shown) => {
  expect(driverOf(tallyDevices(gpus(...drivers)).get('nvidia-gpu') ?? NONE_SEEN)).toBe(shown);
});
