import type { DeviceReport } from '@rollcall/common/report.ts';
import type { Inventory } from './inventory.ts';
import { tallyDevices } from './tally.ts';

/** A machine of which everything is known, and which has nothing but what is told. */
export function inventory(change: Partial<Inventory> = {}): Inventory {
  return {
    devices: new Map(),
    reported: [],
    gone: new Map(),
    heldDrivers: new Set(),
    unread: [],
    facts: {},
    answers: {},
    values: {},
    allocatable: {},
    declared: new Map(),
    dra: new Map(),
    nfd: {},
    ...change,
  };
}

/** So many of an accelerator at addresses of their own, each with a driver, or an empty one. */
export function gpus(...drivers: string[]): DeviceReport[] {
  return drivers.map((driver, index) => ({
    bus: 'pci',
    attributes: { class: '0302', vendor: '10de', device: '2330' },
    count: 1,
    address: `0000:${index}8:00.0`,
    ...(driver === '' ? {} : { driver }),
  }));
}

export function seen(...devices: DeviceReport[]): Pick<Inventory, 'devices' | 'reported'> {
  return { devices: tallyDevices(devices), reported: devices };
}
