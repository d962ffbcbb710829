import { canonicalJson } from '@rollcall/common/digest.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';

/** What a report may hold; the coordinator refuses one with more. */
export const DEVICES_MAX = 512;
/** Half of what the body of a report may have; in bytes of JSON. */
const DEVICES_BYTES_MAX = 128 * 1024;

/** Devices by what they are, each once, in an order that depends on nothing else. */
export function distinctDevices(devices: Iterable<DeviceReport>): Map<string, DeviceReport> {
  const keyed = [...devices].map((device) => [canonicalJson(device), device] as const);
  return new Map(keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** As many as a report may hold, those of an identity before all others, and what had to be left out. */
export function fitIntoReport(
  devices: ReadonlyMap<string, DeviceReport>,
  identityOf: (device: DeviceReport) => string | undefined,
): { kept: DeviceReport[]; cut: DeviceReport[] } {
  const entries = [...devices];
  const kept = new Set<DeviceReport>();
  let bytes = 0;
  for (const wanted of [true, false]) {
    for (const [key, device] of entries) {
      if ((identityOf(device) !== undefined) !== wanted || kept.size >= DEVICES_MAX) continue;
      bytes += Buffer.byteLength(key) + 1;
      if (bytes <= DEVICES_BYTES_MAX) kept.add(device);
    }
  }
  const all = entries.map(([, device]) => device);
  return { kept: all.filter((device) => kept.has(device)), cut: all.filter((device) => !kept.has(device)) };
}

/** How people call it: `1a6e:089a`, or what a node of the device tree is compatible with. */
export function deviceName({ attributes }: DeviceReport): string {
  return attributes['compatible'] ?? `${attributes['vendor']}:${attributes['device']}`;
}
