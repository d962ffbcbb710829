import { identitiesIn, identityOf } from '@rollcall/common/accelerators.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';

/** What an agent sees of one kind of accelerator. */
export type Tallied = {
  count: number;
  /** How many have which driver; the empty one stands for none. */
  drivers: ReadonlyMap<string, number>;
  /** The driver of each device that is reported individually, by address. */
  places: ReadonlyMap<string, string>;
};

/** By identity. What is not in it was not seen. */
export type DeviceTally = ReadonlyMap<string, Tallied>;

export const NONE_SEEN: Tallied = { count: 0, drivers: new Map(), places: new Map() };

/**
 * Counts accelerators by their identity. A USB device that is there once for each class of its interfaces is one; virtual
 * functions are parts of one that is there as well. A board that is known to have an accelerator stands for one, unless it
 * is seen on a bus.
 */
export function tallyDevices(devices: readonly DeviceReport[]): DeviceTally {
  const groups = Map.groupBy(
    devices.filter(({ virtual }) => !virtual),
    (device) => identityOf(device) ?? '',
  );
  groups.delete('');
  return new Map([...groups].map(([identity, own]) => [identity, tallied(own)]));
}

function tallied(devices: readonly DeviceReport[]): Tallied {
  const itself = devices.filter((device) => !isBoard(device));
  if (itself.length === 0) return { ...NONE_SEEN, count: 1, drivers: new Map([['', 1]]) };
  const places = new Map<string, string>();
  const drivers = new Map<string, number>();
  const add = (driver: string, count: number) => drivers.set(driver, (drivers.get(driver) ?? 0) + count);
  for (const { bus, address, driver = '', count = 1 } of itself) {
    if (address === undefined) add(driver, count);
    else if (!places.has(`${bus} ${address}`)) {
      places.set(`${bus} ${address}`, driver);
      add(driver, 1);
    }
  }
  const count = [...drivers.values()].reduce((sum, each) => sum + each, 0);
  return { count, drivers, places };
}

function isBoard({ bus, address }: DeviceReport): boolean {
  return bus === 'device-tree' && address === undefined;
}

const combinations = new WeakMap<DeviceTally, Map<string, Tallied>>();

/** An identity together with all that are kinds of it. */
export function combined(tally: DeviceTally, name: string): Tallied {
  const known = combinations.get(tally) ?? new Map<string, Tallied>();
  combinations.set(tally, known);
  const made = known.get(name) ?? combine(tally, name);
  known.set(name, made);
  return made;
}

function combine(tally: DeviceTally, name: string): Tallied {
  const all = identitiesIn(name).flatMap((identity) => tally.get(identity) ?? []);
  if (all.length <= 1) return all[0] ?? NONE_SEEN;
  const drivers = new Map<string, number>();
  for (const each of all) {
    for (const [driver, count] of each.drivers) drivers.set(driver, (drivers.get(driver) ?? 0) + count);
  }
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    drivers,
    places: new Map(all.flatMap(({ places }) => [...places])),
  };
}

/** Drivers that are not the same, also where some have none. */
export const MIXED = 'mixed';

/** The driver of all of them, as a label shows it; `undefined` where none has one. */
export function driverOf({ drivers }: Pick<Tallied, 'drivers'>): string | undefined {
  const [first = '', ...others] = drivers.keys();
  if (others.length > 0) return MIXED;
  // Of one device, by interface.
  if (first.includes(',')) return MIXED;
  return shownDriver(first);
}

function shownDriver(driver: string): string | undefined {
  const shown = driver
    .replace(/[^-A-Za-z0-9_.]+/g, '-')
    .slice(0, 63)
    .replace(/^[-_.]+|[-_.]+$/g, '');
  return shown === '' ? undefined : shown;
}
