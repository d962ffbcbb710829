import type { Clock } from '@rollcall/common/clock.ts';
import { guarded } from '@rollcall/common/guarded.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { DeviceBus, DeviceReport } from '@rollcall/common/report.ts';
import type { CollectorMetrics } from '../collector-metrics.ts';
import { BusWatch } from './bus-watch.ts';
import { deviceName, distinctDevices, fitIntoReport } from './device-list.ts';
import type { DeviceMetrics } from './metrics.ts';
import { type BusCollector, SCAN_SECONDS } from './types.ts';

type RemovalGraceOptions = {
  /** How long a device that vanished stays, in milliseconds. 0: not at all. */
  graceMs: number;
  /** Devices of one identity are one to those who use them, whatever ids they show. Without an identity there is no grace. */
  identityOf: (device: DeviceReport) => string | undefined;
};

type Known = { device: DeviceReport; identity: string };

/**
 * Accelerators leave the bus and come back with another id when they are first used, which takes seconds. So one that
 * vanished stays in the report for a while, until another of its identity has come in its place. On USB that is one that
 * has come since; elsewhere devices do not come back as others, and any of its identity will do, so that the loss of one
 * of many shows at once.
 */
export class RemovalGrace {
  readonly #options: RemovalGraceOptions;
  #seen: ReadonlyMap<string, Known> = new Map();
  readonly #held = new Map<string, Known & { untilMs: number }>();

  constructor(options: RemovalGraceOptions) {
    this.#options = options;
  }

  /** Devices to report, each under a key that is the same for the same device, given those that are there. */
  apply(present: ReadonlyMap<string, DeviceReport>, nowMs: number): Map<string, DeviceReport> {
    const seen = this.#known(present);
    for (const [key, known] of this.#seen) {
      if (!seen.has(key)) this.#held.set(key, { ...known, untilMs: nowMs + this.#options.graceMs });
    }
    for (const [key, known] of seen) if (!this.#seen.has(key)) this.#release(known);
    this.#seen = seen;
    const identities = new Set([...seen.values()].map(({ identity }) => identity));
    for (const [key, { device, identity, untilMs }] of this.#held) {
      const isReplaced = device.bus !== 'usb' && identities.has(identity);
      if (isReplaced || nowMs >= untilMs) this.#held.delete(key);
    }
    return new Map([...present, ...[...this.#held].map(([key, { device }]) => [key, device] as const)]);
  }

  /** When the next grace is over; `undefined` while there is none. */
  get untilMs(): number | undefined {
    const ends = [...this.#held.values()].map(({ untilMs }) => untilMs);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** One has come: the one that it stands for is at the same place, or else has waited longest. */
  #release({ device, identity }: Known): void {
    const alike = [...this.#held].filter(([, held]) => held.identity === identity);
    const [key] = alike.find(([, held]) => held.device.address === device.address) ?? alike[0] ?? [];
    if (key !== undefined) this.#held.delete(key);
  }

  #known(present: ReadonlyMap<string, DeviceReport>): Map<string, Known> {
    const known = new Map<string, Known>();
    for (const [key, device] of present) {
      const identity = this.#options.identityOf(device);
      if (identity !== undefined) known.set(key, { device, identity });
    }
    return known;
  }
}

/** Names, each once, and not without bound. */
const NAMES_MAX = 32;

type Plugging = { bus: DeviceBus; plugged: string[]; unplugged: string[] };

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

/** After which something that is being set up is looked at again. */
const SETTLING_MS = 100;
/** The least time between two scans: hints come in bursts. */
const SPACING_MS = 50;

export type DeviceScannerOptions = RemovalGraceOptions & {
  collectors: readonly BusCollector[];
  /** The number of events that the kernel has sent; `undefined` where it cannot be told. */
  kernelEvents?: () => string | undefined;
  clock: Clock;
  logger: Logger;
  collectorMetrics: CollectorMetrics;
  deviceMetrics: DeviceMetrics;
  signal: AbortSignal;
  /** Called when there is something else to report, but not by the first scan. */
  onChange: () => void;
};

export type ScannedDevices = {
  devices: readonly DeviceReport[];
  /** Buses on which there may be more than is known: never read since the start, or not for long enough. */
  unread: readonly DeviceBus[];
};

/** Scans all buses every `SCAN_SECONDS`, and sooner on request. A bus that fails keeps what was last seen on it. */
export class DeviceScanner {
  readonly #options: DeviceScannerOptions;
  readonly #buses: readonly BusWatch[];
  readonly #grace: RemovalGrace;
  readonly #leftOutBuses = new Set<DeviceBus>();
  #present: ReadonlyMap<string, DeviceReport> | undefined;
  #scanned: ScannedDevices;
  #scannedMs = 0;
  #dueMs = Number.POSITIVE_INFINITY;
  #events: string | undefined;
  #isHinted = false;
  #cancel: (() => void) | undefined;

  constructor(options: DeviceScannerOptions) {
    const { collectors, graceMs, clock, logger, collectorMetrics: metrics } = options;
    this.#options = options;
    this.#buses = collectors.map((collector) => new BusWatch(collector, { graceMs, clock, logger, metrics }));
    this.#grace = new RemovalGrace(options);
    this.#scanned = { devices: [], unread: collectors.map(({ bus }) => bus) };
  }

  /** Scans at once, so that no report says that there are no devices before the first scan. Call it once. */
  start(): void {
    this.#options.signal.addEventListener('abort', () => this.#cancel?.(), { once: true });
    this.#scan();
    const counts = Object.fromEntries(this.#buses.map(({ bus, state }) => [bus, state]));
    this.#options.logger.info(counts, 'Looked for devices');
  }

  /** Something may have changed just now. Any number of calls is fine; before the start they say nothing new. */
  scanSoon(): void {
    if (!this.#present) return;
    this.#isHinted = true;
    this.#arm(this.#scannedMs + SPACING_MS);
  }

  /** The same object while nothing changes. */
  scanned(): ScannedDevices {
    return this.#scanned;
  }

  #scan(): void {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    this.#scannedMs = nowMs;
    this.#dueMs = Number.POSITIVE_INFINITY;
    guarded(this.#options.logger, 'devices', () => {
      const isEventless = this.#isEventless();
      const hasNews = this.#buses.map((bus) => bus.refresh(isEventless)).includes(true);
      const graceEnds = this.#grace.untilMs ?? Number.POSITIVE_INFINITY;
      if (hasNews || !this.#present || nowMs >= graceEnds) this.#update(nowMs);
    });
    const settling = this.#buses.some(({ isSettling }) => isSettling);
    this.#arm(
      Math.min(nowMs + (settling ? SETTLING_MS : SCAN_SECONDS * 1000), this.#grace.untilMs ?? Number.POSITIVE_INFINITY),
    );
  }

  /** Whether the kernel has sent no event since the last scan, and nothing else has hinted at one. */
  #isEventless(): boolean {
    const [before, isHinted] = [this.#events, this.#isHinted];
    this.#events = this.#options.kernelEvents?.();
    this.#isHinted = false;
    return this.#events !== undefined && this.#events === before && !isHinted;
  }

  /** Keeps what is due earlier. */
  #arm(dueMs: number): void {
    const { clock, signal } = this.#options;
    if (signal.aborted || dueMs >= this.#dueMs) return;
    this.#cancel?.();
    this.#dueMs = dueMs;
    this.#cancel = clock.after(Math.max(0, dueMs - clock.monotonic()), () => this.#scan());
  }

  #update(nowMs: number): void {
    const before = this.#present;
    this.#present = distinctDevices(this.#buses.flatMap(({ known }) => known.devices));
    const { kept, cut } = fitIntoReport(this.#grace.apply(this.#present, nowMs), this.#options.identityOf);
    const scanned = { devices: kept, unread: this.#buses.filter((bus) => bus.isUnread).map(({ bus }) => bus) };
    for (const bus of this.#buses) this.#account(bus, kept, cut);
    const isSame = JSON.stringify(scanned) === JSON.stringify(this.#scanned);
    if (!isSame) this.#scanned = scanned;
    if (!before) return;
    for (const plugging of pluggingBetween(before.values(), this.#present.values())) {
      this.#options.logger.info(plugging, 'Saw devices come or go');
    }
    if (!isSame) this.#options.onChange();
  }

  #account({ bus, known }: BusWatch, kept: readonly DeviceReport[], cut: readonly DeviceReport[]): void {
    const { deviceMetrics, logger } = this.#options;
    const beyondLimit = cut.filter((device) => device.bus === bus).length;
    const leftOut = known.leftOut + beyondLimit;
    deviceMetrics.observeDevices(bus, { reported: kept.filter((device) => device.bus === bus).length, leftOut });
    if (leftOut === 0) this.#leftOutBuses.delete(bus);
    else if (!this.#leftOutBuses.has(bus)) {
      this.#leftOutBuses.add(bus);
      logger.warn({ bus, unreadable: known.leftOut, beyondLimit }, 'Left devices out of the report');
    }
  }
}
