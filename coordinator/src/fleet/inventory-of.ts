import { heldDrivers, shownTally } from '../inventory/device-memory.ts';
import type { DraDevices, Inventory } from '../inventory/inventory.ts';
import type { ShownMachine } from './machines.ts';
import type { ObservedNode } from './observed-node.ts';

export type InventorySources = {
  shown: ShownMachine | undefined;
  allocatable: ObservedNode['allocatable'];
  dra: ReadonlyMap<string, DraDevices> | undefined;
};

const NONE: ReadonlyMap<string, readonly string[]> = new Map();

/** What a node has, of all that tells of it. `nowMs` is monotonic. */
export function inventoryOf({ shown, allocatable, dra }: InventorySources, nowMs: number): Inventory {
  const { devices, machine } = shown ?? {};
  return {
    devices: devices && shownTally(devices, nowMs),
    gone: devices?.gone ?? NONE,
    heldDrivers: new Set(devices ? heldDrivers(devices, nowMs).keys() : []),
    unread: machine?.unread ?? [],
    facts: machine?.facts ?? {},
    answers: machine?.answers ?? {},
    allocatable,
    dra,
  };
}
