import type { DeviceReport } from '@rollcall/common/report.ts';
import { expect, test } from 'vitest';
import { pluggingBetween } from './device-scanner.ts';

function usb(device: string, serial = ''): DeviceReport {
  return { bus: 'usb', attributes: { vendor: '18d1', device, serial } };
}

test('tells what came and what went, by bus', () => {
  const tree: DeviceReport = { bus: 'device-tree', attributes: { compatible: 'a,b', count: '1' } };
  expect(pluggingBetween([usb('0001'), usb('0002')], [usb('0002'), usb('0003'), tree])).toEqual([
    { bus: 'usb', plugged: ['18d1:0003'], unplugged: ['18d1:0001'] },
    { bus: 'device-tree', plugged: ['a,b'], unplugged: [] },
  ]);
});

test('tells that one of several is gone, but not that a serial number became known', () => {
  expect(pluggingBetween([usb('1', 'A'), usb('1', 'B')], [usb('1', 'B')])).toMatchObject([{ unplugged: ['18d1:1'] }]);
  expect(pluggingBetween([usb('1')], [usb('1', 'A')])).toEqual([]);
});

test('does not name more than a line of a log should hold', () => {
  const many = Array.from({ length: 100 }, (_, index) => usb(String(index)));
  expect(pluggingBetween([], many)[0]?.plugged).toHaveLength(32);
});
