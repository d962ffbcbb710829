import type { ResourceSlice } from '../kube/objects.ts';
import type { DraDevices } from '../model/inventory/inventory.ts';
import type { OnNode } from './node-indexer.ts';

/** A part of what a driver offers for dynamic resource allocation. */
export type ObservedResourceSlice = OnNode & {
  driver: string;
  pool: string;
  generation: number;
  /** How many slices its pool has in this generation. */
  slices: number;
  /** Of its devices those that no taint keeps pods off. */
  devices: number;
};

function isOffered({ taints = [] }: { taints?: { effect: string }[] }): boolean {
  return !taints.some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
}

export function observeResourceSlice({ metadata, spec }: ResourceSlice): ObservedResourceSlice {
  return {
    uid: metadata.uid,
    namespace: '',
    name: metadata.name,
    node: spec.nodeName ?? '',
    driver: spec.driver,
    pool: spec.pool.name,
    generation: spec.pool.generation,
    slices: spec.pool.resourceSliceCount,
    devices: spec.devices?.filter(isOffered).length ?? 0,
  };
}

/** What the slices of a node offer, by driver. */
export function draDevices(slices: readonly ObservedResourceSlice[]): ReadonlyMap<string, DraDevices> {
  return new Map([...Map.groupBy(slices, ({ driver }) => driver)].map(([driver, own]) => [driver, offered(own)]));
}

/** Of each pool the slices of the newest generation count; a driver may be just about to write the others. */
function offered(slices: readonly ObservedResourceSlice[]): DraDevices {
  let count = 0;
  let isComplete = true;
  for (const pool of Map.groupBy(slices, (slice) => slice.pool).values()) {
    const newest = Math.max(...pool.map(({ generation }) => generation));
    const own = pool.filter(({ generation }) => generation === newest);
    count += own.reduce((sum, { devices }) => sum + devices, 0);
    isComplete &&= own.length >= (own[0]?.slices ?? 0);
  }
  return { count, isComplete };
}
