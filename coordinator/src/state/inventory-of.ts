import { heldDrivers, shownTally } from '../model/inventory/device-memory.ts';
import type { Inventory } from '../model/inventory/inventory.ts';
import type { ShownMachine } from './machines.ts';
import { mergedFeatures } from './node-features.ts';
import type { ObservedNode } from './observed-node.ts';
import type { OnDemandOnNode } from './on-demand.ts';
import { draDevices } from './resource-slices.ts';

export type InventorySources = OnDemandOnNode & {
  shown: ShownMachine | undefined;
  allocatable: ObservedNode['allocatable'];
};

const NONE: ReadonlyMap<string, readonly string[]> = new Map();

/** What a node has, from all sources. `nowMs` is monotonic. */
export function inventoryOf(sources: InventorySources, nowMs: number): Inventory {
  const { shown, allocatable, slices, nodeFeatures } = sources;
  const { devices, machine } = shown ?? {};
  return {
    devices: devices && shownTally(devices, nowMs),
    gone: devices?.gone ?? NONE,
    heldDrivers: new Set(devices ? heldDrivers(devices, nowMs).keys() : []),
    unread: machine?.unread ?? [],
    facts: machine?.facts ?? {},
    answers: machine?.answers ?? {},
    values: machine?.values ?? {},
    allocatable,
    dra: slices && draDevices(slices),
    nfd: nodeFeatures && mergedFeatures(nodeFeatures),
  };
}
