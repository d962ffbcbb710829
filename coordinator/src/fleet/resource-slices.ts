import type { DraDevices } from '../inventory/inventory.ts';
import type { ResourceSlice } from '../kube/objects.ts';

/** A part of what a driver offers for dynamic resource allocation. */
export type ObservedResourceSlice = {
  name: string;
  /** Empty where it is not of one node. */
  node: string;
  driver: string;
  pool: string;
  generation: number;
  /** How many slices its pool has in this generation. */
  slices: number;
  devices: number;
};

export function observeResourceSlice({ metadata, spec }: ResourceSlice): ObservedResourceSlice {
  return {
    name: metadata.name,
    node: spec.nodeName ?? '',
    driver: spec.driver,
    pool: spec.pool.name,
    generation: spec.pool.generation,
    slices: spec.pool.resourceSliceCount,
    devices: spec.devices?.length ?? 0,
  };
}

/** The ResourceSlices of nodes, while somebody asks for them. */
export class ResourceSlices {
  readonly #byName = new Map<string, ObservedResourceSlice>();
  readonly #byNode = new Map<string, Map<string, ObservedResourceSlice>>();
  readonly #onChange: (node: string) => void;
  readonly #onKnown: () => void;
  #known = false;

  /** `onKnown`: whether they are known is other than before. */
  constructor(onChange: (node: string) => void, onKnown: () => void) {
    this.#onChange = onChange;
    this.#onKnown = onKnown;
  }

  /** What is offered on a node, by driver; `undefined` while that is not known. */
  on(node: string): ReadonlyMap<string, DraDevices> | undefined {
    if (!this.#known) return undefined;
    const byDriver = Map.groupBy(this.#byNode.get(node)?.values() ?? [], ({ driver }) => driver);
    return new Map([...byDriver].map(([driver, slices]) => [driver, offered(slices)]));
  }

  replace(all: readonly ObservedResourceSlice[]): void {
    const listed = new Set(all.map(({ name }) => name));
    for (const each of all) this.upsert(each);
    for (const name of [...this.#byName.keys()]) if (!listed.has(name)) this.remove({ name });
    if (this.#known) return;
    this.#known = true;
    this.#onKnown();
  }

  upsert(next: ObservedResourceSlice): void {
    const before = this.#byName.get(next.name);
    if (before && JSON.stringify(before) === JSON.stringify(next)) return;
    if (before) this.#take(before);
    this.#byName.set(next.name, next);
    if (next.node === '') return;
    const own = this.#byNode.get(next.node) ?? new Map<string, ObservedResourceSlice>();
    this.#byNode.set(next.node, own.set(next.name, next));
    this.#onChange(next.node);
  }

  remove({ name }: Pick<ObservedResourceSlice, 'name'>): void {
    const before = this.#byName.get(name);
    if (!before) return;
    this.#byName.delete(name);
    this.#take(before);
  }

  /** Nobody asks any more: nothing is known of them. */
  forget(): void {
    this.#byName.clear();
    this.#byNode.clear();
    if (!this.#known) return;
    this.#known = false;
    this.#onKnown();
  }

  #take({ name, node }: ObservedResourceSlice): void {
    const own = this.#byNode.get(node);
    if (!own?.delete(name)) return;
    if (own.size === 0) this.#byNode.delete(node);
    this.#onChange(node);
  }
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
