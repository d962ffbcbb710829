import type { DeviceReport } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import type { Features } from './feature-name.ts';
import { gpus, inventory, seen } from './inventory.test-fixtures.ts';
import type { Inventory } from './inventory.ts';
import { parsePredicate, Tokens } from './parse-predicate.ts';
import { answer, type PredicateResult } from './predicate-result.ts';

function ask(text: string, change: Partial<Inventory> = {}): PredicateResult {
  const predicate = parsePredicate(new Tokens(text));
  if (predicate.kind === 'label') throw new Error('that is a label');
  return answer(predicate, inventory(change));
}

const truth = (text: string, change: Partial<Inventory> = {}) => ask(text, change).truth;

describe('how many there are', () => {
  test.each([
    ['count:nvidia-gpu >= 8', 'no'],
    ['count:nvidia-gpu >= 7', 'yes'],
    ['count:nvidia-gpu', 'yes'],
    ['count:nvidia-gpu < 8', 'yes'],
    ['count:nvidia-gpu = 7', 'yes'],
    ['count:gpu > 7', 'no'],
    ['count:edgetpu', 'no'],
    ['count:edgetpu < 1', 'yes'],
  ])('of seven GPUs, %s is so: %s', (text, expected) => {
    expect(truth(text, seen(...gpus(...Array<string>(7).fill('nvidia'))))).toBe(expected);
  });

  test.each([
    ['count:nvidia-gpu >= 2', 'yes'],
    ['count:nvidia-gpu >= 3', 'unknown'],
    ['count:nvidia-gpu < 2', 'no'],
    ['count:nvidia-gpu < 3', 'unknown'],
    ['count:nvidia-gpu <= 2', 'unknown'],
    ['count:nvidia-gpu <= 1', 'no'],
    ['count:nvidia-gpu = 2', 'unknown'],
    ['count:nvidia-gpu = 1', 'no'],
    ['count:nvidia-gpu > 1', 'yes'],
  ])('while there may be more than the two that are seen, %s is so: %s', (text, expected) => {
    expect(truth(text, { ...seen(...gpus('nvidia', 'nvidia')), unread: ['pci'] })).toBe(expected);
  });

  test('does not depend on buses where there are none', () => {
    expect(truth('count:nvidia-gpu >= 3', { ...seen(...gpus('nvidia')), unread: ['usb', 'device-tree'] })).toBe('no');
  });

  describe('with an id', () => {
    const nic = { class: '0200', vendor: '15b3', device: '101d' };
    const usb = (device: string, code: string, count = 1): DeviceReport => ({
      bus: 'usb',
      attributes: { class: code, vendor: '0bda', device },
      count,
    });
    const machine = seen(
      { bus: 'pci', attributes: nic, count: 2, driver: 'mlx5_core' },
      { bus: 'pci', attributes: { ...nic, device: '101e' }, count: 16, driver: 'mlx5_core', virtual: true },
      { bus: 'pci', attributes: { ...nic, class: '0801', device: 'c2d5' } },
      // One device, by each class of its interfaces; and two others.
      ...[usb('8153', '02'), usb('8153', '0a'), usb('5411', '09', 2)],
    );

    test.each([
      ['pci:15b3 >= 19', 'yes'],
      ['pci:15b3 >= 20', 'no'],
      ['pci:15b3@0200 = 18', 'yes'],
      ['pci:15b3:101e = 16', 'yes'],
      ['pci:15B3:101E@0200', 'yes'],
      ['pci:15b3:101e@0801', 'no'],
      ['pci:8086', 'no'],
      ['usb:0bda = 3', 'yes'],
      ['usb:0bda:8153 = 1', 'yes'],
      ['usb:15b3', 'no'],
      ['driver:pci:15b3:101d = mlx5_core', 'yes'],
      ['driver:pci:15b3 = mlx5_core', 'no'],
    ])('%s is so: %s', (text, expected) => {
      expect(truth(text, machine)).toBe(expected);
    });

    test('is unknown while no agent has spoken, and where its bus cannot be read and there may be more', () => {
      expect(truth('pci:15b3', { devices: undefined })).toBe('unknown');
      expect(truth('pci:8086', { ...machine, unread: ['pci'] })).toBe('unknown');
      expect(truth('pci:15b3 >= 2', { ...machine, unread: ['pci'] })).toBe('yes');
      expect(truth('pci:8086', { ...machine, unread: ['usb'] })).toBe('no');
    });
  });

  test('is unknown while no agent has spoken', () => {
    expect(ask('count:edgetpu', { devices: undefined })).toEqual({
      truth: 'unknown',
      found: 'no agent has reported the hardware yet',
    });
  });

  test('says how many are seen', () => {
    expect(ask('count:nvidia-gpu', seen(...gpus('nvidia'))).found).toBe('the agent sees 1 of nvidia-gpu');
  });

  test('says which are gone', () => {
    const gone = new Map([['nvidia-gpu', ['pci 0000:78:00.0']]]);
    const { found } = ask('count:nvidia-gpu >= 2', { ...seen(...gpus('nvidia')), gone });
    expect(found).toBe('the agent sees 1 of nvidia-gpu, and no longer pci 0000:78:00.0');
  });
});

describe('the driver', () => {
  test.each([
    [['nvidia', 'nvidia'], 'driver:nvidia-gpu = nvidia', 'yes', 'the driver of nvidia-gpu is nvidia'],
    [['vfio-pci'], 'driver:nvidia-gpu = nvidia', 'no', 'the driver of nvidia-gpu is vfio-pci'],
    [['vfio-pci'], 'driver:nvidia-gpu in (nvidia, vfio-*)', 'yes', 'the driver of nvidia-gpu is vfio-pci'],
    [[''], 'driver:nvidia-gpu', 'no', 'no driver is bound to nvidia-gpu'],
    [[], 'driver:nvidia-gpu', 'no', 'the agent sees no nvidia-gpu'],
    [
      ['nvidia', '', 'nvidia'],
      'driver:nvidia-gpu = nvidia',
      'no',
      'the drivers of nvidia-gpu differ: pci 0000:18:00.0 has none',
    ],
    [
      ['nvidia', 'nvidia', 'nvidia', 'vfio-pci', 'vfio-pci'],
      'driver:nvidia-gpu = mixed',
      'yes',
      'the drivers of nvidia-gpu differ: pci 0000:38:00.0 and 1 more has vfio-pci',
    ],
  ] as const)('of %j answers %s: %s', (drivers, text, expected, found) => {
    expect(ask(text, seen(...gpus(...drivers)))).toEqual({ truth: expected, found });
  });

  test('of those that are only counted differs without a place', () => {
    const groups = gpus('nvidia', 'vfio-pci').map(({ address: _address, ...gpu }) => gpu);
    expect(ask('driver:nvidia-gpu = nvidia', seen(...groups))).toEqual({
      truth: 'no',
      found: 'the drivers of nvidia-gpu differ',
    });
  });

  test('counts as none while it comes and goes', () => {
    const held = { ...seen(...gpus('nvidia')), heldDrivers: new Set(['nvidia-gpu']) };
    expect(ask('driver:gpu = nvidia', held)).toMatchObject({
      truth: 'no',
      found: expect.stringContaining('held back'),
    });
  });
});

describe('what agents are asked', () => {
  test('is unknown until they answer', () => {
    const answers = { 'module:apex': true, 'cpu:avx2': false };
    const predicates = ['module:apex', 'cpu:avx2', 'module:nvidia'];
    expect(predicates.map((text) => truth(text, { answers }))).toEqual(['yes', 'no', 'unknown']);
    expect(predicates.map((text) => ask(text, { answers }).found)).toEqual([
      'the node has the kernel module apex',
      'the node does not have the flag avx2 of its processors',
      'the agent has not reported the kernel module nvidia',
    ]);
  });
});

describe('facts', () => {
  test.each([
    ['fact:kernel >= 6.8', '6.12.1-arch1-1', 'yes'],
    ['fact:kernel >= 6.8', '6.8', 'yes'],
    ['fact:kernel >= v6.8', 'v6.12.1-arch1', 'yes'],
    ['fact:kernel >= 3', '6.12.1-arch1', 'yes'],
    ['fact:kernel > +5', '+6', 'yes'],
    ['fact:kernel > 6.8', '6.8.0', 'no'],
    ['fact:kernel < 6.8', '6.7.99', 'yes'],
    ['fact:kernel < 6.10', '6.9.1', 'yes'],
    ['fact:kernel > 6', '6.0.1', 'yes'],
    ['fact:kernel > 6', 'custom', 'no'],
    ['fact:kernel = 6.*', '6.9.1', 'yes'],
    ['fact:kernel', '6.9.1', 'yes'],
  ])('%s of %s: %s', (text, kernel, expected) => {
    expect(truth(text, { facts: { kernel } })).toBe(expected);
  });

  test('are unknown until they are read, and then there or not', () => {
    expect(truth('fact:kernel', { unread: ['facts'] })).toBe('unknown');
    expect(truth('fact:kernel', { devices: undefined })).toBe('unknown');
    expect(truth('fact:hypervisor')).toBe('no');
    expect(truth('fact:constructor')).toBe('no');
  });
});

test('a feature is declared, or not, or unknown where the Node was not asked for it', () => {
  const declared = new Map([
    ['Resize', true],
    ['Swap', false],
  ]);
  expect(truth('declared:Resize', { declared })).toBe('yes');
  expect(truth('declared:Swap', { declared })).toBe('no');
  expect(truth('declared:Other', { declared })).toBe('unknown');
  expect(truth('declared:Resize', { declared: undefined })).toBe('unknown');
});

describe('resources and DRA devices', () => {
  test('of the node', () => {
    const allocatable = { 'nvidia.com/gpu': '7', memory: '527955036Ki' };
    expect(truth('resource:nvidia.com/gpu >= 8', { allocatable })).toBe('no');
    expect(truth('resource:memory > 500Gi', { allocatable })).toBe('yes');
    expect(truth('resource:constructor', { allocatable })).toBe('no');
    expect(truth('resource:x', { allocatable: undefined })).toBe('unknown');
  });

  test('are known as far as the pool is complete', () => {
    const dra = (count: number, isComplete: boolean) => ({ dra: new Map([['gpu.nvidia.com', { count, isComplete }]]) });
    expect(truth('dra:gpu.nvidia.com >= 8', dra(8, true))).toBe('yes');
    expect(truth('dra:gpu.nvidia.com >= 8', dra(4, true))).toBe('no');
    expect(truth('dra:gpu.nvidia.com >= 8', dra(4, false))).toBe('unknown');
    expect(truth('dra:gpu.nvidia.com', { dra: new Map() })).toBe('no');
    expect(truth('dra:gpu.nvidia.com', { dra: undefined })).toBe('unknown');
  });
});

describe('features of NFD', () => {
  const nfd: Features = {
    'cpu.model.family': '6',
    'cpu.model.vendor_id': 'Intel',
    'kernel.loadedmodule.dummy': true,
    'kernel.loadedmodule.apex': null,
    'pci.device': 2,
    'kernel.version.full': '6.12.1-arch1',
  };

  test.each([
    ['nfd:cpu.model.vendor_id', 'yes', 'NFD of the node reports cpu.model.vendor_id as "Intel"'],
    ['nfd:cpu.model.vendor_id = Intel', 'yes', 'NFD of the node reports cpu.model.vendor_id as "Intel"'],
    ['nfd:cpu.model.vendor_id in (AMD, Arm*)', 'no', 'NFD of the node reports cpu.model.vendor_id as "Intel"'],
    ['nfd:cpu.model.family >= 6', 'yes', 'NFD of the node reports cpu.model.family as "6"'],
    ['nfd:cpu.model.family > 6', 'no', 'NFD of the node reports cpu.model.family as "6"'],
    ['nfd:kernel.version.full >= 6.8', 'yes', 'NFD of the node reports kernel.version.full as "6.12.1-arch1"'],
    ['nfd:cpu.model.vendor_id > 1', 'no', 'NFD of the node reports cpu.model.vendor_id as "Intel"'],
    ['nfd:kernel.loadedmodule.dummy', 'yes', 'NFD of the node has kernel.loadedmodule.dummy'],
    ['nfd:kernel.loadedmodule.dummy = true', 'no', 'NFD of the node has kernel.loadedmodule.dummy'],
    ['nfd:kernel.loadedmodule.apex', 'no', 'NFD of the node has no kernel.loadedmodule.apex'],
    ['nfd:pci.device', 'yes', 'NFD of the node has 2 of pci.device'],
    ['nfd:pci.device >= 3', 'no', 'NFD of the node has 2 of pci.device'],
    ['nfd:usb.device', 'unknown', 'no NodeFeature of the node lists usb.device'],
    ['nfd:cpu.cpuid.AVX2', 'unknown', 'no NodeFeature of the node lists cpu.cpuid'],
  ])('%s is so: %s', (text, expected, found) => {
    expect(ask(text, { nfd })).toEqual({ truth: expected, found });
  });

  test('are unknown until the NodeFeatures were listed', () => {
    const found = 'the NodeFeatures have not been listed yet';
    expect(ask('nfd:cpu.model.family', { nfd: undefined })).toEqual({ truth: 'unknown', found });
  });

  test('from features.d are what an agent answers that reads it, else what NFD repeats', () => {
    const [question, other] = ['nfd:local.feature.slots', 'nfd:local.label.slots'];
    const here = { answers: { [question]: true, [other]: false }, values: { [question]: '4' }, nfd: undefined };
    const found = 'features.d of the node reports local.feature.slots as "4"';
    expect(ask(`${question} = 4`, here)).toEqual({ truth: 'yes', found });
    expect(truth(`${question} >= 5`, here)).toBe('no');
    expect(ask(other, here)).toEqual({ truth: 'no', found: 'features.d of the node has no local.label.slots' });
    const repeated = { 'local.feature.slots': '3', 'local.label.slots': '3' };
    expect(truth(`${question} = 4`, { ...here, nfd: repeated })).toBe('yes');
    expect(truth(other, { ...here, nfd: repeated })).toBe('no');
    expect(truth(`${question} = 3`, { nfd: repeated })).toBe('yes');
  });
});
