import { canonicalJson } from '@rollcall/common/digest.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';

/** What a report may hold; the coordinator refuses one with more. */
export const DEVICES_MAX = 512;
/** Half of what the body of a report may have; in bytes of JSON. */
const DEVICES_BYTES_MAX = 128 * 1024;

/** How many devices are reported one by one, with their location. Beyond that, equal devices are counted. */
const SINGLES_MAX = 64;

/** Devices by what they are, those that are alike counted, in an order that depends on nothing else. */
export function distinctDevices(devices: Iterable<DeviceReport>): Map<string, DeviceReport> {
  const all = [...devices];
  const singles = all.filter(isSingle).sort((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1));
  const alike = new Set(singles.slice(SINGLES_MAX));
  const distinct = new Map<string, DeviceReport>();
  for (const given of all) {
    const { count = 1, ...device } = alike.has(given) ? withoutPlace(given) : given;
    const key = canonicalJson(device);
    distinct.set(key, { ...device, count: (distinct.get(key)?.count ?? 0) + count });
  }
  return new Map([...distinct].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

function isSingle({ address }: DeviceReport): boolean {
  return address !== undefined;
}

function addressOf({ bus, address }: DeviceReport): string {
  return `${bus} ${address}`;
}

function withoutPlace({ bus, attributes, count, driver, virtual }: DeviceReport): DeviceReport {
  return {
    bus,
    attributes,
    ...(count === undefined ? {} : { count }),
    ...(driver === undefined ? {} : { driver }),
    ...(virtual ? { virtual } : {}),
  };
}

/** Returns as many devices as a report may hold, devices with an identity first, and what had to be left out. */
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
      // The count is not part of the key.
      bytes += Buffer.byteLength(key) + 20;
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
