import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { identityOf } from '@rollcall/common/accelerators.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { fuzzRuns, fuzzTimeoutMs } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseReport } from '../../../coordinator/src/ingest/report-schema.ts';
import { registerCollectorMetrics } from '../collector-metrics.ts';
import { openBuses } from './buses.ts';
import { DeviceScanner } from './device-scanner.ts';
import { openHostFiles } from './host-files.ts';
import { registerDeviceMetrics } from './metrics.ts';
import { FakeSysfs, hostOf, makeFifo } from './testing/fake-sysfs.ts';

let sysfs: FakeSysfs;

beforeEach(() => {
  sysfs = new FakeSysfs();
});

afterEach(() => sysfs.dispose());

/** What some scans of a tree make of it, one after the other. */
async function scan() {
  const clock = new FakeClock();
  const registry = new Registry();
  const life = new AbortController();
  const real = openHostFiles();
  const files = { ...real, textLater: async (file: string) => real.text(file) };
  const scanner: DeviceScanner = new DeviceScanner({
    collectors: openBuses(hostOf(sysfs, files, () => scanner.scanSoon())),
    graceMs: 0,
    identityOf,
    clock,
    logger: silentLogger(),
    collectorMetrics: registerCollectorMetrics(registry),
    deviceMetrics: registerDeviceMetrics(registry),
    signal: life.signal,
    onChange: () => {},
  });
  scanner.start();
  await clock.advance(2000);
  life.abort();
  return scanner.scanned();
}

const HEADER = { node: 'n', boot: 'b', sequence: 1, digest: 'd', services: [] };

type Thing =
  | { kind: 'file'; content: Uint8Array }
  | { kind: 'huge' | 'folder' | 'loop' | 'broken' | 'endless' | 'missing' };

function put(file: string, thing: Thing): void {
  mkdirSync(path.dirname(file), { recursive: true });
  if (thing.kind === 'file') writeFileSync(file, thing.content);
  if (thing.kind === 'folder') mkdirSync(file);
  if (thing.kind === 'loop') symlinkSync(path.basename(file), file);
  if (thing.kind === 'broken') symlinkSync('/nowhere/at/all', file);
  if (thing.kind === 'endless') symlinkSync('/dev/zero', file);
  if (thing.kind !== 'huge') return;
  writeFileSync(file, '0x');
  truncateSync(file, 2 ** 32);
}

function text(values: fc.Arbitrary<string>): fc.Arbitrary<Thing> {
  return values.map((value) => ({ kind: 'file', content: Buffer.from(value) }));
}

/** Mostly what belongs there, as otherwise no tree would ever make a device. */
function attribute(proper: fc.Arbitrary<string>): fc.Arbitrary<Thing> {
  return fc.oneof(
    { weight: 12, arbitrary: text(proper) },
    { weight: 1, arbitrary: text(fc.string({ unit: 'binary', maxLength: 20 })) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 5000 }).map((content): Thing => ({ kind: 'file', content })) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Thing>(
        ...(['huge', 'folder', 'loop', 'broken', 'endless', 'missing'] as const).map((kind) => ({ kind })),
      ),
    },
  );
}

const RUNS = fuzzRuns(40);

const hex = (digits: number) =>
  fc.integer({ min: 0, max: 16 ** digits - 1 }).map((value) => value.toString(16).padStart(digits, '0'));
const word = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ maxLength: 1500 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
const id = attribute(hex(4).map((digits) => `0x${digits}\n`));

const pciDevice = fc.record({
  class: attribute(hex(6).map((digits) => `0x${digits}\n`)),
  vendor: id,
  device: id,
  subsystem_vendor: id,
  subsystem_device: id,
  sriov_totalvfs: attribute(fc.nat(256).map(String)),
});
const usbDevice = fc.record({
  bDeviceClass: attribute(fc.constantFrom('00\n', 'ff\n', '09\n')),
  idVendor: attribute(hex(4)),
  idProduct: attribute(hex(4)),
  serial: attribute(word),
  'x:1.0/bInterfaceClass': attribute(hex(2)),
  'x:1.1/bInterfaceClass': attribute(hex(2)),
});
const treeNode = fc.record({ compatible: attribute(fc.array(word, { maxLength: 4 }).map((list) => list.join('\0'))) });
const names = fc.constantFrom('1-1', '1-2', 'usb1', '0000:00:01.0', 'a b', 'é', '1-1:1.0', '.hidden');
const nodes = fc.constantFrom('.', 'cpus/cpu@0', 'cpus/cpu@1', 'soc/gpu@1', 'gpu', 'other');

test('whatever is in a tree, nothing breaks, and the coordinator takes what is made of it', {
  timeout: fuzzTimeoutMs(RUNS) + 780_000,
}, async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(names, pciDevice, { maxKeys: 4 }),
      fc.dictionary(names, usbDevice, { maxKeys: 4 }),
      fc.dictionary(nodes, treeNode, { maxKeys: 4 }),
      async (pci, usb, tree) => {
        sysfs.dispose();
        sysfs = new FakeSysfs();
        const places = [
          [sysfs.bus('pci'), pci],
          [sysfs.bus('usb'), usb],
          [path.join(sysfs.procfs, 'device-tree'), tree],
        ] as const;
        for (const [place, entries] of places) {
          for (const [name, files] of Object.entries(entries)) {
            for (const [file, thing] of Object.entries<Thing>(files)) put(path.join(place, name, file), thing);
          }
        }
        const { devices, unread } = await scan();
        const report = { ...HEADER, devices, facts: {} };
        expect(parseReport({ protocol: PROTOCOL_VERSION, ...report })).toHaveProperty('report', report);
        expect(unread).toEqual([]);
        expect(JSON.stringify(devices)).not.toMatch(/\\u00[01]|\uFFFD/);
        seen += devices.length;
      },
    ),
    { numRuns: RUNS },
  );
  expect(seen).toBeGreaterThan(20);
});

test('a hostile tree does not hide the devices that are in order', async () => {
  sysfs.pci('0000:00:01.0', { device: '0x2901' });
  sysfs.usb('1-1', { class: 'ff', vendor: '18d1', device: '9302' });
  const things = ['huge', 'folder', 'loop', 'broken', 'endless', 'missing'] as const;
  for (const [index, kind] of things.entries()) {
    for (const file of ['vendor', 'class', 'device']) {
      sysfs.pci(`0000:0${index}:02.${file}`);
      rmSync(sysfs.file('pci', `0000:0${index}:02.${file}`, file));
      put(sysfs.file('pci', `0000:0${index}:02.${file}`, file), { kind });
    }
  }
  for (const file of ['idVendor', 'idProduct', 'bDeviceClass', 'serial']) {
    sysfs.usb(`2-${file}`, { class: 'ff', vendor: '1a6e', device: '089a' });
    rmSync(sysfs.file('usb', `2-${file}`, file), { force: true });
    makeFifo(sysfs.file('usb', `2-${file}`, file));
  }
  const { devices, unread } = await scan();
  expect(unread).toEqual([]);
  expect(devices.map(({ attributes }) => attributes['device'])).toEqual(['2901', '9302', '089a']);
});
