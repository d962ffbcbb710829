import type { DeviceBus, DeviceReport } from '@rollcall/common/report.ts';
import { deviceName } from './device-list.ts';

/** Names, each once, and not without bound. */
const NAMES_MAX = 32;

export type Plugging = { bus: DeviceBus; plugged: string[]; unplugged: string[] };

/** What came and what went on each bus, by the ids that people know: a serial number that was read late is no news. */
export function pluggingBetween(before: Iterable<DeviceReport>, after: Iterable<DeviceReport>): Plugging[] {
  const changes = new Map<string, { device: DeviceReport; change: number }>();
  const count = (device: DeviceReport, change: number) => {
    const key = `${device.bus} ${deviceName(device)}`;
    changes.set(key, { device, change: (changes.get(key)?.change ?? 0) + change });
  };
  for (const device of before) count(device, -(device.count ?? 1));
  for (const device of after) count(device, device.count ?? 1);
  const pluggings = new Map<DeviceBus, Plugging>();
  for (const { device, change } of changes.values()) {
    if (change === 0) continue;
    const { bus } = device;
    const plugging = pluggings.get(bus) ?? { bus, plugged: [], unplugged: [] };
    pluggings.set(bus, plugging);
    const names = change > 0 ? plugging.plugged : plugging.unplugged;
    if (names.length < NAMES_MAX) names.push(deviceName(device));
  }
  return [...pluggings.values()];
}
