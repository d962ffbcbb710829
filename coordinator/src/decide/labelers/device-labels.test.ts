import type { DeviceReport } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import { gpus } from '../../model/inventory/inventory.test-fixtures.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { DeviceGrammar } from './device-grammar.ts';
import { deviceLabelsLabeler } from './device-labels.ts';
import type { EvaluatedNode } from './labeler.ts';

const KEY = 'feature.node.kubernetes.io/usb-ff_abcd_0001.present';
const STICK: DeviceReport = { bus: 'usb', attributes: { class: 'ff', vendor: 'abcd', device: '0001' } };
const GRAMMAR: DeviceGrammar = {
  labels: 'all',
  pci: { deviceClassWhitelist: ['03'], deviceLabelFields: ['class', 'vendor'] },
  usb: { deviceClassWhitelist: ['ff'], deviceLabelFields: ['class', 'vendor', 'device'] },
};

function claims(change: Partial<EvaluatedNode>, grammar: Partial<DeviceGrammar> = {}) {
  const node = { ...snapshot(change), readiness: new Map(), ageMs: 0 };
  return deviceLabelsLabeler({ ...GRAMMAR, ...grammar }).claims(node);
}

function stances(change: Partial<EvaluatedNode>, grammar: Partial<DeviceGrammar> = {}): string[] {
  return claims(change, grammar).map(
    ({ key, stance, ownership, isForeign }) => `${stance} ${ownership} ${key}${isForeign ? ' foreign' : ''}`,
  );
}

const ours = { labels: { [KEY]: 'true' }, ownedLabels: new Set([KEY]) };
const seen = (devices: DeviceReport[], unread: DeviceReport['bus'][] = []) => ({
  machine: { devices, unread, facts: {} },
});

test('a device that is seen is labelled, together with other writers of the same value', () => {
  expect(stances(seen([STICK]))).toEqual([`present shared ${KEY}`]);
  expect(stances({ ...seen([STICK]), labels: { [KEY]: 'true' } })).toEqual([`present shared ${KEY}`]);
});

test('a label of ours goes when its device is seen no more', () => {
  expect(stances({ ...seen([]), ...ours })).toEqual([`absent shared ${KEY}`]);
});

describe('hardware labels may be switched off', () => {
  const TPU: DeviceReport = { bus: 'usb', attributes: { class: 'ff', vendor: '18d1', device: '9302' } };
  const [nfd, known] = ['feature.node.kubernetes.io/usb-ff_18d1_9302.present', 'device.rollcall.dev/edgetpu'];
  const both = { labels: { [nfd]: 'true', [known]: 'true' }, ownedLabels: new Set([nfd, known]) };

  test.each([
    ['all', ['present', 'present']],
    ['known', ['absent', 'present']],
    ['none', ['absent', 'absent']],
  ] as const)('%s', (labels, wanted) => {
    const found = new Map(claims({ ...seen([TPU]), ...both }, { labels }).map((claim) => [claim.key, claim]));
    expect([nfd, known].map((key) => found.get(key)?.stance)).toEqual(wanted);
    for (const { stance, cause, reason } of found.values()) {
      if (stance !== 'absent') continue;
      expect([cause, reason]).toEqual([
        'configuration',
        `the agent sees USB device 18d1:9302 of class ff, but --hardware-labels=${labels} leaves its label out`,
      ]);
    }
  });

  test.each([[[]], [['0e']]])('by the list of classes %j, which is the reason', (deviceClassWhitelist) => {
    const usb = { ...GRAMMAR.usb, deviceClassWhitelist };
    const [claim] = claims({ ...seen([STICK]), ...ours }, { usb });
    expect(claim).toMatchObject({ key: KEY, stance: 'absent', cause: 'configuration' });
    expect(claim?.reason).toContain(
      `its class ff is not in --usb-device-class-whitelist (${deviceClassWhitelist[0] ?? 'none'})`,
    );
  });
});

test('a label of ours stays while no agent has spoken, or while it cannot read that bus', () => {
  expect(stances(ours)).toEqual([`keep shared ${KEY}`]);
  expect(stances({ ...seen([], ['usb']), ...ours })).toEqual([`keep shared ${KEY}`]);
  expect(stances({ ...seen([], ['pci']), ...ours })).toEqual([`absent shared ${KEY}`]);
});

test('the label of an accelerator stays while any bus that it may be on cannot be read', () => {
  const key = 'device.rollcall.dev/edgetpu';
  const labelled = { labels: { [key]: 'true' }, ownedLabels: new Set([key]) };
  expect(stances({ ...seen([], ['pci']), ...labelled })).toEqual([`keep shared ${key}`]);
});

test('another value that another writer has set is left alone', () => {
  expect(stances({ ...seen([STICK]), labels: { [KEY]: 'false' } })).toEqual([`absent shared ${KEY} foreign`]);
});

test('of far too many, the labels of known accelerators and the first others are set, and the rest is named', () => {
  const many = Array.from({ length: 300 }, (_, index): DeviceReport => {
    const device = String(999 - index);
    return { bus: 'usb', attributes: { class: 'ff', vendor: 'abcd', device } };
  });
  const tpu: DeviceReport = { bus: 'usb', attributes: { class: '00', vendor: '18d1', device: '9302' } };
  const last = 'feature.node.kubernetes.io/usb-ff_abcd_999.present';
  const all = stances({ ...seen([...many, tpu]), labels: { [last]: 'true' }, ownedLabels: new Set([last]) });
  expect(all.filter((each) => each.startsWith('present'))).toHaveLength(128);
  expect(all[0]).toBe('present shared device.rollcall.dev/edgetpu');
  expect(all[1]).toBe('present shared device.rollcall.dev/edgetpu.count');
  expect(all[2]).toBe('present shared feature.node.kubernetes.io/usb-ff_abcd_700.present');
  expect(all.filter((each) => each.endsWith(last))).toEqual([`absent shared ${last}`]);
  expect(all).toHaveLength(302);
  expect(stances(seen(many.toReversed()))).toEqual(stances(seen(many)));
});

test('of far too many, the known accelerators come first, then how many and with which driver', () => {
  const many = Array.from({ length: 130 }, (_, index): DeviceReport => {
    return { bus: 'usb', attributes: { class: 'ff', vendor: 'abcd', device: `${1000 + index}` } };
  });
  const tpu: DeviceReport = { bus: 'usb', attributes: { vendor: '18d1', device: '9302' }, count: 1 };
  const wanted = stances(seen([...many, ...gpus('nvidia'), tpu]));
  expect(wanted.slice(0, 6)).toEqual([
    'present shared device.rollcall.dev/edgetpu',
    'present shared device.rollcall.dev/nvidia-gpu',
    'present shared device.rollcall.dev/edgetpu.count',
    'present shared device.rollcall.dev/nvidia-gpu.count',
    'present shared device.rollcall.dev/nvidia-gpu.driver',
    'present shared feature.node.kubernetes.io/pci-0302_10de.present',
  ]);
});

test('nothing is said of labels of others, or of other kinds', () => {
  expect(stances({ ...seen([]), labels: { [KEY]: 'true' }, ownedLabels: new Set(['tier']) })).toEqual([]);
});

const GPU = 'device.rollcall.dev/nvidia-gpu';
const NFD_GPU = 'feature.node.kubernetes.io/pci-0302_10de.present';

function values(change: Partial<EvaluatedNode>): Record<string, string> {
  const wanted = claims(change).filter(({ stance }) => stance === 'present');
  return Object.fromEntries(wanted.map(({ key, value }) => [key, value]));
}

test('a known accelerator is counted, and shows the driver of all of them', () => {
  expect(values(seen(gpus('nvidia', 'nvidia')))).toEqual({
    [NFD_GPU]: 'true',
    [GPU]: 'true',
    [`${GPU}.count`]: '2',
    [`${GPU}.driver`]: 'nvidia',
  });
  expect(values(seen(gpus('nvidia', '')))[`${GPU}.driver`]).toBe('mixed');
  expect(values(seen(gpus('', '')))).not.toHaveProperty([`${GPU}.driver`]);
});

test('the loss of one of eight is another count', () => {
  const eight = { [GPU]: 'true', [`${GPU}.count`]: '8', [`${GPU}.driver`]: 'nvidia', [NFD_GPU]: 'true' };
  const node = { labels: eight, ownedLabels: new Set(Object.keys(eight)) };
  expect(values({ ...node, ...seen(gpus(...Array<string>(7).fill('nvidia'))) })).toEqual({
    ...eight,
    [`${GPU}.count`]: '7',
  });
});

test('count and driver stay while the bus is not read', () => {
  const there = { [`${GPU}.count`]: '8', [`${GPU}.driver`]: 'nvidia' };
  const labelled = { labels: there, ownedLabels: new Set(Object.keys(there)) };
  const held = [`keep shared ${GPU}.count`, `keep shared ${GPU}.driver`];
  expect(stances({ ...seen(gpus('nvidia'), ['pci']), ...labelled })).toEqual(expect.arrayContaining(held));
  expect(stances(labelled)).toEqual(held);
  expect(stances({ ...seen(gpus(''), ['usb']), ...labelled })).toContain(`absent shared ${GPU}.driver`);
  expect(stances({ ...seen([]), ...labelled })).toEqual([`absent shared ${GPU}.count`, `absent shared ${GPU}.driver`]);
});

test('virtual functions have the labels of NFD, and are no accelerators of their own', () => {
  const virtual = gpus('nvidia').map((gpu) => ({ ...gpu, virtual: true as const }));
  expect(values(seen(virtual))).toEqual({ [NFD_GPU]: 'true' });
});

test('a node of the device tree that is an accelerator has no label of its own', () => {
  const npu: DeviceReport = {
    bus: 'device-tree',
    attributes: { compatible: 'rockchip,rk3588-rknpu', node: 'npu' },
    count: 1,
    driver: 'RKNPU',
    address: '/npu@fdab0000',
  };
  expect(values(seen([npu]))).toEqual({
    'device.rollcall.dev/rockchip-npu': 'true',
    'device.rollcall.dev/rockchip-npu.count': '1',
    'device.rollcall.dev/rockchip-npu.driver': 'RKNPU',
  });
});

describe('the reason', () => {
  function reasons(change: Partial<EvaluatedNode>): Record<string, string> {
    return Object.fromEntries(claims(change).map(({ key, stance, reason }) => [key, `${stance}: ${reason}`]));
  }

  const owned = (...keys: string[]) => ({
    labels: Object.fromEntries(keys.map((key) => [key, 'x'])),
    ownedLabels: new Set(keys),
  });

  test('names the device that is seen, and how many there are with which driver', () => {
    const tree: DeviceReport = { bus: 'device-tree', attributes: { compatible: 'arm,cortex-a53', count: '4' } };
    expect(reasons(seen([STICK, tree]))).toEqual({
      [KEY]: 'present: the agent sees USB device abcd:0001 of class ff',
      'beta.devicetree.org/arm-cortex-a53': 'present: the agent sees arm,cortex-a53 in its device tree',
    });
    const tpu: DeviceReport = { bus: 'usb', attributes: { vendor: '18d1', device: '9302' } };
    expect(reasons(seen([tpu]))).toEqual({
      'device.rollcall.dev/edgetpu': 'present: the agent sees USB device 18d1:9302',
      'device.rollcall.dev/edgetpu.count': 'present: the agent sees 1 of edgetpu',
    });
    expect(reasons(seen(gpus('nvidia', 'nvidia')))).toMatchObject({
      [`${GPU}.count`]: 'present: the agent sees 2 of nvidia-gpu',
      [`${GPU}.driver`]: 'present: the agent sees the driver nvidia',
    });
  });

  test('says why a label goes, or stays', () => {
    const driver = `${GPU}.driver`;
    expect(reasons(owned(KEY))[KEY]).toBe('keep: no agent has reported the hardware yet');
    expect(reasons({ ...seen([]), ...owned(KEY) })[KEY]).toBe('absent: the agent sees no such device any more');
    expect(reasons({ ...seen([], ['usb']), ...owned(KEY) })[KEY]).toBe('keep: the agent cannot read the bus usb');
    expect(reasons({ ...seen(gpus('')), ...owned(driver) })[driver]).toBe('absent: no driver is bound to it');
    const node = snapshot({ ...seen(gpus('nvidia')), ...owned(driver) });
    const inventory = { ...node.inventory, heldDrivers: new Set(['nvidia-gpu']) };
    expect(reasons({ ...seen(gpus('nvidia')), ...owned(driver), inventory })[driver]).toBe(
      'absent: its driver changed too often, and is held back',
    );
  });

  test('says of one of too many that it is left out, and of exactly as many as there may be nothing', () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index): DeviceReport => {
        return { bus: 'usb', attributes: { class: 'ff', vendor: 'abcd', device: `${1000 + index}` } };
      });
    const stancesOf = (count: number) => Object.values(reasons(seen(many(count))));
    expect(stancesOf(128).filter((each) => each.startsWith('present'))).toHaveLength(128);
    expect(stancesOf(129).filter((each) => !each.startsWith('present'))).toEqual([
      'absent: is left out, since the machine has more than 128 such labels',
    ]);
  });
});
