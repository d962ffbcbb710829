import { identityOf } from '@rollcall/common/accelerators.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { distinctDevices, fitIntoReport } from './device-list.ts';
import { openHostFiles } from './host-files.ts';
import { createPciCollector } from './pci/pci-collector.ts';
import { FakeSysfs, hostOf } from './testing/fake-sysfs.ts';
import type { DevicesRead } from './types.ts';

let sysfs: FakeSysfs;

beforeEach(() => {
  sysfs = new FakeSysfs();
});

afterEach(() => sysfs.dispose());

test.each([
  [100, 24_000],
  [1000, 24_000],
])('%d GPUs are all counted, in a report of a bounded size, and a scan of them is cheap', (devices, bytesMax) => {
  for (let index = 0; index < devices; index += 1) {
    sysfs.pci(`${index.toString(16).padStart(4, '0')}:00:00.0`, { numa_node: String(index % 2) });
  }
  const collector = createPciCollector(hostOf(sysfs, openHostFiles()));
  const read = () => collector.read() as DevicesRead;
  const all = distinctDevices(read().devices);
  const { kept, cut } = fitIntoReport(all, identityOf);
  expect(cut).toEqual([]);
  expect(kept.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(devices);
  expect(kept.length).toBeLessThanOrEqual(66);
  expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThan(bytesMax);
  read();
  const before = process.cpuUsage();
  for (let scan = 0; scan < 20; scan += 1) read();
  const { user, system } = process.cpuUsage(before);
  // Many times what was measured, in milliseconds of CPU: the machine is busy with other things.
  expect((user + system) / 1000 / 20).toBeLessThan(100);
});
