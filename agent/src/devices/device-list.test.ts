import type { DeviceReport } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import { REPORT_LIMITS } from '../../../coordinator/src/ingest/report-schema.ts';
import { DEVICES_MAX, distinctDevices, fitIntoReport } from './device-list.ts';

function pci(device: string, extra: Record<string, string> = {}): DeviceReport {
  return { bus: 'pci', attributes: { vendor: '8086', device, ...extra } };
}

function fit(devices: DeviceReport[], known: (device: DeviceReport) => boolean = () => false) {
  return fitIntoReport(distinctDevices(devices), (device) => (known(device) ? 'known' : undefined));
}

describe('distinctDevices', () => {
  test('has each once, in the same order whatever theirs', () => {
    const devices = [pci('2'), pci('1'), pci('2'), { bus: 'usb', attributes: { vendor: '0' } } as const];
    const keys = [...distinctDevices(devices).keys()];
    expect(keys).toHaveLength(3);
    expect([...distinctDevices(devices.toReversed()).keys()]).toEqual(keys);
  });

  test('does not care in which order attributes were written', () => {
    const { attributes } = pci('1', { class: '03' });
    const turned = Object.fromEntries(Object.entries(attributes).reverse());
    expect(distinctDevices([pci('1', { class: '03' }), { bus: 'pci', attributes: turned }]).size).toBe(1);
  });
});

describe('devices that are alike', () => {
  const single = (index: number): DeviceReport => ({
    ...pci('1', { class: '0302' }),
    count: 1,
    driver: 'nvidia',
    address: `0000:${String(index).padStart(4, '0')}:00.0`,
    iommuGroup: String(index),
  });

  test('are counted', () => {
    const devices = [pci('1'), { ...pci('1'), count: 2 }, { ...pci('1'), driver: 'x', count: 1 }];
    expect([...distinctDevices(devices).values()]).toEqual([
      { ...pci('1'), count: 1, driver: 'x' },
      { ...pci('1'), count: 3 },
    ]);
  });

  test('are reported one by one up to a limit, and counted beyond it', () => {
    const devices = Array.from({ length: 1000 }, (_, index) => single(index));
    const distinct = [...distinctDevices(devices.toReversed()).values()];
    expect(distinct).toHaveLength(65);
    expect(distinct.filter(({ address }) => address !== undefined)).toEqual(devices.slice(0, 64));
    expect(distinct.find(({ address }) => address === undefined)).toEqual({
      ...pci('1', { class: '0302' }),
      count: 936,
      driver: 'nvidia',
    });
  });

  test('are counted apart from those that are virtual', () => {
    const devices = Array.from({ length: 68 }, (_, index) => single(index)).map((device, index) =>
      index < 65 ? device : { ...device, virtual: true as const },
    );
    const counted = [...distinctDevices(devices).values()].filter(({ address }) => address === undefined);
    expect(counted.map(({ virtual, count }) => [virtual, count])).toEqual(
      expect.arrayContaining([
        [undefined, 1],
        [true, 3],
      ]),
    );
  });
});

describe('fitIntoReport', () => {
  test('keeps everything that the coordinator takes', () => {
    expect(DEVICES_MAX).toBe(REPORT_LIMITS.devices);
    const devices = Array.from({ length: DEVICES_MAX }, (_, index) => pci(String(index)));
    expect(fit(devices)).toMatchObject({ cut: [], kept: { length: DEVICES_MAX } });
  });

  test('cuts what is too much, always the same, and never a known accelerator', () => {
    const devices = Array.from({ length: 600 }, (_, index) => pci(String(index)));
    const isKnown = ({ attributes }: DeviceReport) => Number(attributes['device']) >= 590;
    const { kept, cut } = fit(devices, isKnown);
    expect([kept.length, cut.length]).toEqual([DEVICES_MAX, 88]);
    expect(kept.filter(isKnown)).toHaveLength(10);
    expect(fit(devices.toReversed(), isKnown)).toEqual({ kept, cut });
  });

  test('leaves room in a report for all else', () => {
    const devices = Array.from({ length: DEVICES_MAX }, (_, index) => pci(String(index), { serial: 'é'.repeat(1024) }));
    const { kept } = fit(devices);
    expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(128 * 1024 + 2);
    expect(kept.length).toBeGreaterThan(50);
  });
});
