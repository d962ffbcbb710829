import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { identityOf } from '@rollcall/common/accelerators.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, type Mock, test, vi } from 'vitest';
import { registerCollectorMetrics } from '../collector-metrics.ts';
import { openBuses } from './buses.ts';
import { deviceName } from './device-list.ts';
import { DeviceScanner } from './device-scanner.ts';
import { openHostFiles } from './host-files.ts';
import { registerDeviceMetrics } from './metrics.ts';
import { CORAL, CORAL_USED, FakeSysfs, hostOf } from './testing/fake-sysfs.ts';
import { type BusCollector, type BusReading, SCAN_SECONDS } from './types.ts';
import { createUsbCollector } from './usb/usb-collector.ts';

const SCAN_MS = SCAN_SECONDS * 1000;
const KEYBOARD = { vendor: '046d', device: 'c31c', interfaces: ['03'] };

let clock: FakeClock;
let sysfs: FakeSysfs;
let registry: Registry;
let life: AbortController;
let scanner: DeviceScanner;
const onChange = vi.fn();
const logger = silentLogger();
const info = vi.spyOn(logger, 'info');
const warn = vi.spyOn(logger, 'warn');

beforeEach(() => {
  clock = new FakeClock();
  sysfs = new FakeSysfs();
  registry = new Registry();
  life = new AbortController();
  for (const spy of [onChange, info, warn]) spy.mockClear();
});

afterEach(() => {
  life.abort();
  sysfs.dispose();
});

/** Scans `collectors`, or else the fake machine. */
function start(collectors?: readonly BusCollector[], graceMs = 5000, events?: () => string | undefined) {
  const files = openHostFiles();
  scanner = new DeviceScanner({
    collectors: collectors ?? openBuses(hostOf(sysfs, files, () => scanner.scanSoon())),
    ...(events ? { kernelEvents: events } : {}),
    graceMs,
    identityOf,
    clock,
    logger,
    collectorMetrics: registerCollectorMetrics(registry),
    deviceMetrics: registerDeviceMetrics(registry),
    signal: life.signal,
    onChange,
  });
  scanner.start();
}

function names() {
  return scanner.scanned().devices.map(deviceName);
}

/** A bus whose readings the test makes. */
function scripted(bus: BusCollector['bus'], next: () => BusReading): BusCollector {
  return { bus, validMs: 0, read: next };
}

function reading(...ids: string[]): BusReading {
  const devices = ids.map((device): DeviceReport => ({ bus: 'pci', attributes: { vendor: '8086', device } }));
  return { devices, settling: false, leftOut: 0 };
}

function fail(): BusReading {
  throw new Error('out of order');
}

describe('the device scanner', () => {
  test('reports every bus as unread before it has started', () => {
    start([scripted('pci', () => reading(String(scanner.scanned().unread)))]);
    expect(names()).toEqual(['8086:pci']);
  });

  test('knows all devices when it has started, and says nothing of a change', () => {
    sysfs.usb('1-1', CORAL);
    sysfs.pci('0000:00:01.0');
    sysfs.node('', ['google,board']);
    start();
    expect(names()).toEqual(['10de:20b0', '1a6e:089a', 'google,board']);
    expect(onChange).not.toHaveBeenCalled();
    expect(info.mock.calls).toEqual([[{ usb: 1, pci: 1, 'device-tree': 1 }, 'Looked for devices']]);
  });

  test('sees within two seconds what was plugged in, and what was unplugged', async () => {
    start();
    await clock.advance(10_000);
    onChange.mockClear();
    sysfs.usb('1-2', KEYBOARD);
    await clock.advance(SCAN_MS);
    expect(names()).toEqual(['046d:c31c']);
    expect(onChange).toHaveBeenCalledTimes(1);
    sysfs.remove('usb', '1-2');
    await clock.advance(SCAN_MS);
    expect(names()).toEqual([]);
    expect(onChange).toHaveBeenCalledTimes(2);
    expect(info.mock.calls.slice(1)).toEqual([
      [{ bus: 'usb', plugged: ['046d:c31c'], unplugged: [] }, 'Saw devices come or go'],
      [{ bus: 'usb', plugged: [], unplugged: ['046d:c31c'] }, 'Saw devices come or go'],
    ]);
  });

  test('is quiet while nothing changes', async () => {
    sysfs.usb('1-1', { ...CORAL, serial: 'A' });
    start();
    await vi.waitFor(async () => {
      await clock.advance(SCAN_MS);
      expect(scanner.scanned().devices[0]?.attributes).toHaveProperty('serial', 'A');
      expect(scanner.scanned().unread).toEqual([]);
    });
    onChange.mockClear();
    const before = scanner.scanned();
    await clock.advance(600_000);
    expect(scanner.scanned()).toBe(before);
    expect(onChange).not.toHaveBeenCalled();
    expect(info).toHaveBeenCalledTimes(1);
  });

  test('scans soon when told to, however often it is told', async () => {
    start();
    await clock.advance(500);
    sysfs.usb('1-2', KEYBOARD);
    for (let hints = 0; hints < 100; hints += 1) scanner.scanSoon();
    await clock.advance(0);
    expect(names()).toEqual(['046d:c31c']);
    sysfs.remove('usb', '1-2');
    scanner.scanSoon();
    await clock.advance(49);
    expect(names()).toEqual(['046d:c31c']);
    await clock.advance(1);
    expect(names()).toEqual([]);
  });

  test('looks again at once at a device that is being set up', async () => {
    start();
    await clock.advance(1500);
    sysfs.usb('1-1', { vendor: '1a6e', device: '089a' });
    scanner.scanSoon();
    await clock.advance(0);
    expect(names()).toEqual([]);
    mkdirSync(sysfs.file('usb', '1-1', '1-1:1.0'));
    writeFileSync(sysfs.file('usb', '1-1', '1-1:1.0/bInterfaceClass'), 'fe\n');
    await clock.advance(100);
    expect(names()).toEqual(['1a6e:089a']);
  });

  test('stops with the program, and keeps what it knows for the last report', async () => {
    sysfs.usb('1-1', CORAL);
    start();
    life.abort();
    scanner.scanSoon();
    expect(clock.pendingTimers).toBe(0);
    expect(names()).toEqual(['1a6e:089a']);
  });
});

describe('a machine whose kernel counts its events', () => {
  let events: number;
  let pci: Mock<() => BusReading>;

  /** Started so long ago that nothing is waited for any more. */
  async function startAndSettle(devices = 1): Promise<void> {
    events = 7;
    const ids = Array.from({ length: devices }, (_, index) => String(index));
    const present = reading(...ids);
    pci = vi.fn(() => present);
    start([{ ...scripted('pci', pci), hasEvents: true }], 5000, () => String(events));
    await clock.advance(60_000);
    pci.mockClear();
  }

  test('is read again within two seconds after an event, and twice more for what comes a moment later', async () => {
    await startAndSettle();
    pci.mockImplementation(() => reading('new'));
    events += 1;
    await clock.advance(SCAN_MS);
    expect(names()).toEqual(['8086:new']);
    await clock.advance(10 * SCAN_MS);
    expect(pci).toHaveBeenCalledTimes(3);
  });

  test('is read every half minute without one', async () => {
    await startAndSettle();
    await clock.advance(600_000);
    expect(pci.mock.calls.length).toBeGreaterThanOrEqual(18);
    expect(pci.mock.calls.length).toBeLessThanOrEqual(20);
  });

  test('is read as often after an event as it takes to compare all of its devices', async () => {
    await startAndSettle(500);
    events += 1;
    await clock.advance(12 * SCAN_MS);
    expect(pci).toHaveBeenCalledTimes(2 + 8);
  });

  test('is read at a hint, while a device settles or tells something late, and after it failed', async () => {
    await startAndSettle();
    scanner.scanSoon();
    await clock.advance(50);
    expect(pci).toHaveBeenCalledTimes(1);
    events += 1;
    pci.mockImplementation(fail);
    await clock.advance(10 * SCAN_MS);
    expect(pci.mock.calls.length).toBeGreaterThanOrEqual(10);
    pci.mockImplementation(() => ({ ...(reading('1') as object), settling: true }) as BusReading);
    await clock.advance(SCAN_MS);
    pci.mockClear();
    await clock.advance(1000);
    expect(pci).toHaveBeenCalledTimes(10);
  });

  test('is read in every scan where the count cannot be read', async () => {
    pci = vi.fn(() => reading('1'));
    start([{ ...scripted('pci', pci), hasEvents: true }], 5000, () => undefined);
    await clock.advance(10 * SCAN_MS);
    expect(pci).toHaveBeenCalledTimes(11);
  });
});

describe('a Coral stick', () => {
  /** Lets time pass, looking all the while. Returns how long an Edge TPU was in the report. */
  async function watch(ms: number): Promise<number> {
    for (let passedMs = 0; passedMs < ms; passedMs += 50) {
      const known = scanner.scanned().devices.some((device) => identityOf(device) === 'edgetpu');
      if (!known) return passedMs;
      await clock.advance(50);
    }
    return ms;
  }

  test.each([0, 130, 950])('is in the report from plugging to 5 s after unplugging (%d ms off beat)', async (offMs) => {
    start();
    await clock.advance(3000 + offMs);
    sysfs.usb('1-1', CORAL);
    await clock.advance(SCAN_MS);
    expect(names()).toEqual(['1a6e:089a']);
    expect(await watch(4000)).toBe(4000);
    // Its first use.
    sysfs.remove('usb', '1-1');
    expect(await watch(2000)).toBe(2000);
    expect(names()).toEqual(['1a6e:089a']);
    sysfs.usb('1-1', CORAL_USED);
    expect(await watch(60_000)).toBe(60_000);
    expect(names()).toEqual(['18d1:9302']);
    sysfs.remove('usb', '1-1');
    const stayedMs = await watch(20_000);
    expect(stayedMs).toBeGreaterThanOrEqual(5000);
    expect(stayedMs).toBeLessThanOrEqual(5000 + SCAN_MS + 50);
  });
});

describe('a bus', () => {
  test('that fails keeps what was last seen on it, and disturbs no other', async () => {
    const pci = vi.fn(() => reading('1'));
    sysfs.usb('1-2', KEYBOARD);
    start([createUsbCollector(hostOf(sysfs)), scripted('pci', pci)]);
    await clock.advance(5000 + 2 * SCAN_MS);
    pci.mockImplementation(fail);
    sysfs.remove('usb', '1-2');
    await clock.advance(10_000);
    expect(names()).toEqual(['8086:1']);
    expect(scanner.scanned().unread).toEqual([]);
    expect(warn.mock.calls).toEqual([[{ bus: 'pci', err: new Error('out of order') }, 'Could not read a bus']]);
    expect(await registry.metrics()).toContain('rollcall_agent_collector_success{collector="pci"} 0');
    pci.mockImplementation(() => reading('2'));
    await clock.advance(SCAN_MS);
    expect(names()).toEqual(['8086:2']);
    expect(info).toHaveBeenCalledWith({ bus: 'pci' }, 'Could read a bus again');
  });

  test.each([5000, 0])('is unread until it could be read once (with a grace of %d ms)', async (graceMs) => {
    const pci = vi.fn(fail);
    start([scripted('pci', pci)], graceMs);
    expect(scanner.scanned()).toEqual({ devices: [], unread: ['pci'] });
    await clock.advance(10_000);
    expect(scanner.scanned()).toEqual({ devices: [], unread: ['pci'] });
    pci.mockImplementation(() => 'absent');
    await clock.advance(SCAN_MS);
    expect(scanner.scanned()).toEqual({ devices: [], unread: [] });
    expect(onChange).toHaveBeenCalledTimes(1);
    pci.mockImplementation(fail);
    await clock.advance(SCAN_MS);
    expect(scanner.scanned()).toEqual({ devices: [], unread: [] });
  });

  test('that was there before the start is unread until what may be about to come back is there', async () => {
    start();
    expect(scanner.scanned()).toEqual({ devices: [], unread: ['usb', 'pci'] });
    await clock.advance(2000);
    sysfs.usb('1-1', CORAL_USED);
    await clock.advance(2900);
    expect(names()).toEqual(['18d1:9302']);
    expect(scanner.scanned().unread).toEqual(['usb', 'pci']);
    onChange.mockClear();
    await clock.advance(SCAN_MS + 100);
    expect(scanner.scanned().unread).toEqual([]);
    expect(onChange).toHaveBeenCalledTimes(1);
    sysfs.remove('usb', '1-1');
    await clock.advance(60_000);
    expect(scanner.scanned()).toEqual({ devices: [], unread: [] });
  });

  test('has that time from when it could be read first', async () => {
    const pci = vi.fn(fail);
    start([scripted('pci', pci)]);
    await clock.advance(60_000);
    pci.mockImplementation(() => reading('1'));
    await clock.advance(6000);
    expect(scanner.scanned()).toMatchObject({ devices: [{}], unread: ['pci'] });
    await clock.advance(SCAN_MS);
    expect(scanner.scanned()).toMatchObject({ devices: [{}], unread: [] });
  });

  test('is unread without any grace until it has told all, and never again', async () => {
    let late = true;
    start([{ ...scripted('usb', () => reading('1')), isLate: () => late }], 0);
    await clock.advance(2000);
    expect(scanner.scanned().unread).toEqual(['usb']);
    late = false;
    await clock.advance(SCAN_MS);
    expect(scanner.scanned().unread).toEqual([]);
    late = true;
    await clock.advance(SCAN_MS);
    expect(scanner.scanned().unread).toEqual([]);
  });

  test('is not waited for any longer when it does not come to an end', async () => {
    start([{ ...scripted('usb', () => reading('1')), isLate: () => true }], 0);
    await clock.advance(9000);
    expect(scanner.scanned().unread).toEqual(['usb']);
    await clock.advance(2 * SCAN_MS);
    expect(scanner.scanned().unread).toEqual([]);
  });

  test('that the machine does not have is no failure', async () => {
    for (const bus of ['usb', 'pci'] as const) rmSync(`${sysfs.root}/bus/${bus}`, { recursive: true });
    start();
    await clock.advance(5000);
    expect(scanner.scanned()).toEqual({ devices: [], unread: [] });
    expect(warn).not.toHaveBeenCalled();
    const states = { usb: 'absent', pci: 'absent', 'device-tree': 'absent' };
    expect(info.mock.calls).toEqual([[states, 'Looked for devices']]);
    const text = await registry.metrics();
    for (const collector of ['usb', 'pci', 'device-tree']) {
      expect(text).toContain(`rollcall_agent_collector_success{collector="${collector}"} 1`);
      expect(text).toContain(`rollcall_agent_collector_available{collector="${collector}"} 0`);
    }
  });

  test('is not known where there is no sysfs at all', () => {
    rmSync(sysfs.root, { recursive: true });
    start();
    expect(scanner.scanned().unread).toEqual(['usb', 'pci', 'device-tree']);
    expect(warn).toHaveBeenCalledTimes(3);
    const states = { usb: 'unread', pci: 'unread', 'device-tree': 'unread' };
    expect(info.mock.calls).toEqual([[states, 'Looked for devices']]);
  });

  test('with more devices than a report takes is cut, which is said once and counted', async () => {
    const ids = Array.from({ length: 600 }, (_, index) => String(index));
    start([scripted('pci', () => ({ ...(reading(...ids) as object), leftOut: 3 }) as BusReading)]);
    await clock.advance(10_000);
    expect(names()).toHaveLength(512);
    expect(warn.mock.calls).toEqual([
      [{ bus: 'pci', unreadable: 3, beyondLimit: 88 }, 'Left devices out of the report'],
    ]);
    const text = await registry.metrics();
    expect(text).toContain('rollcall_agent_devices{bus="pci"} 512');
    expect(text).toContain('rollcall_agent_devices_left_out{bus="pci"} 91');
  });

  test('reports again that devices are left out after a scan without any', async () => {
    let leftOut = 3;
    start([scripted('pci', () => ({ devices: [], settling: false, leftOut }))]);
    const tell = async (next: number) => {
      leftOut = next;
      await clock.advance(SCAN_MS);
      return warn.mock.calls.length;
    };
    expect([await tell(3), await tell(0), await tell(3), await tell(4)]).toEqual([1, 1, 2, 2]);
  });

  test('that settles for ever and then fails is not hurried over', async () => {
    const pci = vi.fn((): BusReading => ({ devices: [], settling: true, leftOut: 0 }));
    start([scripted('pci', pci)]);
    pci.mockImplementation(fail);
    await clock.advance(100);
    pci.mockClear();
    await clock.advance(5 * SCAN_MS);
    expect(pci).toHaveBeenCalledTimes(5);
  });

  test('that throws an unexpected error ends nothing, and is scanned again', async () => {
    let next = reading('1');
    start([scripted('pci', () => next)]);
    next = {
      devices: [{ bus: 'pci', attributes: { vendor: 7n as never } }],
      settling: false,
      leftOut: 0,
    } as BusReading;
    await clock.advance(SCAN_MS);
    expect(names()).toEqual(['8086:1']);
    next = reading('3');
    await clock.advance(10_000);
    expect(names()).toEqual(['8086:3']);
  });
});
