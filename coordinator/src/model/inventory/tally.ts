import { identitiesIn, identityOf } from '@rollcall/common/accelerators.ts';
import { DEVICE_ID } from '@rollcall/common/checks/kinds/device.ts';
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

const ID = new RegExp(`^(?:${DEVICE_ID})$`);

/** Whether a name is that of devices by their ids, and not of a known accelerator. */
export function isDeviceId(name: string): boolean {
  return ID.test(name);
}

const ofIds = new WeakMap<readonly DeviceReport[], Map<string, Tallied>>();

/** The devices with an id, virtual functions too: they have ids of their own. */
export function tallyById(devices: readonly DeviceReport[], id: string): Tallied {
  const known = ofIds.get(devices) ?? new Map<string, Tallied>();
  ofIds.set(devices, known);
  const own = known.has(id) ? [] : withId(devices, id);
  const made = known.get(id) ?? (own.length === 0 ? NONE_SEEN : tallied(own));
  known.set(id, made);
  return made;
}

function withId(devices: readonly DeviceReport[], id: string): readonly DeviceReport[] {
  const [, bus, vendorId, deviceId, classId] = /^(\w+):(\w+)(?::(\w+))?(?:@(\w+))?$/.exec(id) ?? [];
  const own = devices.filter(
    ({ bus: on, attributes }) =>
      on === bus &&
      attributes['vendor'] === vendorId &&
      (deviceId === undefined || attributes['device'] === deviceId) &&
      (classId === undefined || attributes['class'] === classId),
  );
  if (bus !== 'usb') return own;
  // A USB device is there once for each class of its interfaces.
  const byProduct = Map.groupBy(own, ({ attributes }) => attributes['device']);
  return [...byProduct.values()].flatMap((alike) => {
    const byClass = [...Map.groupBy(alike, ({ attributes }) => attributes['class']).values()];
    return byClass.sort((a, b) => countOf(b) - countOf(a))[0] ?? [];
  });
}

function countOf(devices: readonly DeviceReport[]): number {
  return devices.reduce((sum, { count = 1 }) => sum + count, 0);
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
