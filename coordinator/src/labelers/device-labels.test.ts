import type { DeviceReport } from '@rollcall/common/report.ts';
import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { deviceLabelsLabeler } from './device-labels.ts';
import type { JudgedNode } from './labeler.ts';

const KEY = 'feature.node.kubernetes.io/usb-ff_abcd_0001.present';
const STICK: DeviceReport = { bus: 'usb', attributes: { class: 'ff', vendor: 'abcd', device: '0001' } };
const labeler = deviceLabelsLabeler({
  pci: { deviceClassWhitelist: ['03'], deviceLabelFields: ['class', 'vendor'] },
  usb: { deviceClassWhitelist: ['ff'], deviceLabelFields: ['class', 'vendor', 'device'] },
});

function stances(change: Partial<JudgedNode>): string[] {
  const node = { ...snapshot(change), readiness: new Map(), ageMs: 0 };
  return labeler.claims(node).map(({ key, stance, ownership }) => `${stance} ${ownership} ${key}`);
}

const ours = { labels: { [KEY]: 'true' }, ownedLabels: new Set([KEY]) };
const seen = (devices: DeviceReport[], unread: DeviceReport['bus'][] = []) => ({
  machine: { devices, unread, facts: {} },
});

test('a device that is seen is labelled, together with whoever else says the same', () => {
  expect(stances(seen([STICK]))).toEqual([`want shared ${KEY}`]);
  expect(stances({ ...seen([STICK]), labels: { [KEY]: 'true' } })).toEqual([`want shared ${KEY}`]);
});

test('a label of ours goes when its device is seen no more', () => {
  expect(stances({ ...seen([]), ...ours })).toEqual([`withhold shared ${KEY}`]);
});

test('a label of ours stays while no agent has spoken, or while it cannot read that bus', () => {
  expect(stances(ours)).toEqual([`hold shared ${KEY}`]);
  expect(stances({ ...seen([], ['usb']), ...ours })).toEqual([`hold shared ${KEY}`]);
  expect(stances({ ...seen([], ['pci']), ...ours })).toEqual([`withhold shared ${KEY}`]);
});

test('the label of an accelerator stays while any bus that it may be on cannot be read', () => {
  const key = 'device.rollcall.dev/edgetpu';
  const labelled = { labels: { [key]: 'true' }, ownedLabels: new Set([key]) };
  expect(stances({ ...seen([], ['pci']), ...labelled })).toEqual([`hold shared ${key}`]);
});

test('another value that somebody has set is left to them', () => {
  expect(stances({ ...seen([STICK]), labels: { [KEY]: 'false' } })).toEqual([`withhold shared ${KEY}`]);
});

test('of far too many, those of known accelerators and the first others are set, and the rest is named', () => {
  const many = Array.from({ length: 300 }, (_, index): DeviceReport => {
    const device = String(999 - index);
    return { bus: 'usb', attributes: { class: 'ff', vendor: 'abcd', device } };
  });
  const tpu: DeviceReport = { bus: 'usb', attributes: { class: '00', vendor: '18d1', device: '9302' } };
  const last = 'feature.node.kubernetes.io/usb-ff_abcd_999.present';
  const all = stances({ ...seen([...many, tpu]), labels: { [last]: 'true' }, ownedLabels: new Set([last]) });
  expect(all.filter((each) => each.startsWith('want'))).toHaveLength(128);
  expect(all[0]).toBe('want shared device.rollcall.dev/edgetpu');
  expect(all[1]).toBe('want shared feature.node.kubernetes.io/usb-ff_abcd_700.present');
  expect(all.filter((each) => each.endsWith(last))).toEqual([`withhold shared ${last}`]);
  expect(all).toHaveLength(301);
  expect(stances(seen(many.toReversed()))).toEqual(stances(seen(many)));
});

test('nothing is said of labels of others, or of other kinds', () => {
  expect(stances({ ...seen([]), labels: { [KEY]: 'true' }, ownedLabels: new Set(['tier']) })).toEqual([]);
});
