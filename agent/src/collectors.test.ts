import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MachineCollectors } from './collectors.ts';
import { FakeSysfs } from './devices/testing/fake-sysfs.ts';
import { registerAgentMetrics } from './metrics.ts';
import { PathTurns } from './path-turns.ts';

let sysfs: FakeSysfs;
let changes: number;

beforeEach(() => {
  sysfs = new FakeSysfs();
  changes = 0;
});

afterEach(() => sysfs.dispose());

/** Collectors of an agent that ends at once: they scan the devices, and start no program that reads the facts. */
function collectors(featuresDir?: string, deviceRemovalGraceSeconds = 0): MachineCollectors {
  return new MachineCollectors({
    config: {
      hostIp: '192.0.2.1',
      sysfsRoot: sysfs.root,
      procfsRoot: sysfs.procfs,
      featuresDir,
      deviceTreeNodes: [],
      deviceRemovalGraceSeconds,
    },
    clock: new FakeClock(),
    logger: silentLogger(),
    metrics: registerAgentMetrics(new Registry()),
    signal: AbortSignal.abort(),
    turns: new PathTurns(),
    onChange: () => {
      changes += 1;
    },
  });
}

test('nothing is known of a machine before it was looked at, and that is said', () => {
  expect(collectors().observe()).toEqual({
    devices: [],
    unread: ['usb', 'pci', 'device-tree', 'facts'],
    facts: {},
    answers: {},
    values: {},
  });
});

test('the devices are known when the start returns, the facts are not', () => {
  sysfs.pci('0000:01:00.0', { vendor: '0x10de', device: '0x20b0' });
  const machine = collectors();
  machine.start();
  expect(machine.observe()).toMatchObject({
    devices: [{ bus: 'pci', attributes: { vendor: '10de', device: '20b0' } }],
    unread: ['facts'],
  });
});

test('it is told where an accelerator is, and of other devices only that they are there', () => {
  sysfs.pci('0000:01:00.0', { vendor: '0x10de', device: '0x20b0' });
  sysfs.pci('0000:00:02.0', { vendor: '0x8086', device: '0x09a2', class: '0x060000' });
  const machine = collectors();
  machine.start();
  const places = machine.observe().devices.map(({ attributes, address }) => [attributes['vendor'], address]);
  expect(Object.fromEntries(places)).toEqual({ '10de': '0000:01:00.0', '8086': undefined });
});

test('a device that was there before may come back within the grace, so that its bus counts as unread', () => {
  const machine = collectors(undefined, 5);
  machine.start();
  expect(machine.observe().unread).toEqual(['usb', 'pci', 'facts']);
});

test('what is asked about the kernel is answered, and is news', () => {
  mkdirSync(path.join(sysfs.root, 'module', 'kvm'), { recursive: true });
  const machine = collectors();
  machine.ask(['module:kvm', 'module:vfio', 'nfd:local.label.rack']);
  expect(machine.observe()).toMatchObject({ answers: { 'module:kvm': true, 'module:vfio': false }, values: {} });
  expect(machine.observe().answers).not.toHaveProperty('nfd:local.label.rack');
  expect(changes).toBe(1);
});

test('what is asked about feature files is answered from their directory', async () => {
  const directory = path.join(sysfs.directory, 'features.d');
  mkdirSync(directory);
  writeFileSync(path.join(directory, 'rack'), 'rack=a7\n');
  const machine = collectors(directory);
  machine.ask(['nfd:local.label.rack']);
  await vi.waitFor(() => expect(machine.observe()).toMatchObject({ values: { 'nfd:local.label.rack': 'a7' } }));
});
