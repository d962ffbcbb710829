/** Amounts by `SET/COUNTER`. */
export type Amounts = ReadonlyMap<string, number>;

/** Steps of the search in one pool: some milliseconds. */
const STEPS_MAX = 20_000;
/** Devices that one path of the search may look at: each takes room on the stack. */
const DEPTH_MAX = 1000;

/**
 * How many of these devices can be allocated at once at best, where each takes from counters that they share: a GPU and its
 * partitions are not all there at the same time. `isExact` is `false` where the search was given up: it may be more.
 */
export function mostAtOnce(devices: readonly Amounts[], capacities: Amounts): { count: number; isExact: boolean } {
  const search = new Search(capacities);
  let count = 0;
  for (const component of componentsOf(devices)) count += search.most(component);
  return { count, isExact: search.isExact };
}

/** Devices that share a counter, directly or by way of others. */
function componentsOf(devices: readonly Amounts[]): Amounts[][] {
  const leaders = devices.map((_, index) => index);
  const find = (index: number): number => {
    let leader = index;
    while (leaders[leader] !== leader) leader = leaders[leader] ?? leader;
    leaders[index] = leader;
    return leader;
  };
  const firstWith = new Map<string, number>();
  for (const [index, device] of devices.entries()) {
    for (const counter of device.keys()) {
      const first = firstWith.get(counter);
      if (first === undefined) firstWith.set(counter, index);
      else leaders[find(index)] = find(first);
    }
  }
  const grouped = Map.groupBy(devices.entries(), ([index]) => find(index));
  return [...grouped.values()].map((group) => group.map(([, device]) => device));
}

class Search {
  readonly #left: Map<string, number>;
  readonly #capacities: Amounts;
  #steps = 0;
  #best = 0;

  constructor(capacities: Amounts) {
    this.#capacities = capacities;
    this.#left = new Map(capacities);
  }

  get isExact(): boolean {
    return this.#steps < STEPS_MAX;
  }

  /** Takes those first that need the least, which is the best already where devices are parts of one kind. */
  most(devices: readonly Amounts[]): number {
    const size = new Map(devices.map((device) => [device, this.#sizeOf(device)]));
    const sorted = devices.toSorted((a, b) => (size.get(a) ?? 0) - (size.get(b) ?? 0));
    const taken = sorted.filter((device) => {
      const fits = this.#fits(device);
      if (fits) this.#take(device, 1);
      return fits;
    });
    for (const device of taken) this.#take(device, -1);
    this.#best = taken.length;
    this.#from(sorted, 0, 0);
    return this.#best;
  }

  #sizeOf(device: Amounts): number {
    return device.entries().reduce((sum, [counter, amount]) => sum + amount / (this.#capacities.get(counter) ?? 1), 0);
  }

  #from(devices: readonly Amounts[], index: number, taken: number): void {
    if (taken > this.#best) this.#best = taken;
    const device = devices[index];
    if (!device || !this.isExact || taken + this.#bound(devices, index) <= this.#best) return;
    if (index >= DEPTH_MAX) {
      this.#steps = STEPS_MAX;
      return;
    }
    if (this.#fits(device)) {
      this.#take(device, 1);
      this.#from(devices, index + 1, taken + 1);
      this.#take(device, -1);
    }
    this.#from(devices, index + 1, taken);
  }

  /** No more can follow than are left, or than a counter that all of them need has room for. */
  #bound(devices: readonly Amounts[], from: number): number {
    const rest = devices.length - from;
    const least = new Map(devices[from]);
    for (let index = from; index < devices.length && least.size > 0; index += 1) {
      this.#steps += 1;
      const device = devices[index];
      for (const [counter, amount] of least) {
        const own = device?.get(counter);
        if (own === undefined || own === 0) least.delete(counter);
        else if (own < amount) least.set(counter, own);
      }
    }
    return Math.min(
      rest,
      ...least.entries().map(([counter, amount]) => Math.floor((this.#left.get(counter) ?? 0) / amount)),
    );
  }

  #fits(device: Amounts): boolean {
    return device.entries().every(([counter, amount]) => amount <= (this.#left.get(counter) ?? 0));
  }

  #take(device: Amounts, sign: 1 | -1): void {
    for (const [counter, amount] of device) this.#left.set(counter, (this.#left.get(counter) ?? 0) - sign * amount);
  }
}
