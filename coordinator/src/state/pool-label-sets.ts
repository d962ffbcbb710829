import type { NodePoolLabelSet } from '../kube/objects.ts';

/** A NodePoolLabelSet, trimmed to what decisions need. */
export type ObservedPoolLabelSet = {
  uid: string;
  name: string;
  namespace: string;
  generation: number;
  /** RFC 3339. */
  createdAt: string;
  /** The pool that it is for. */
  pool: string;
  labels: Readonly<Record<string, string>>;
  status: unknown;
};

export function observePoolLabelSet({ metadata, spec, status }: NodePoolLabelSet): ObservedPoolLabelSet {
  return {
    uid: metadata.uid,
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    generation: metadata.generation ?? 0,
    createdAt: metadata.creationTimestamp ?? '',
    pool: spec?.pool || metadata.name,
    labels: spec?.labels ?? {},
    status,
  };
}

/** The NodePoolLabelSets of a namespace. Of several for one pool the oldest counts. */
export class PoolLabelSets {
  readonly #byName = new Map<string, ObservedPoolLabelSet>();
  readonly #byPool = new Map<string, ObservedPoolLabelSet[]>();
  /** As last seen or written; its form is not validated here. */
  readonly #statuses = new Map<string, unknown>();
  readonly #onChange: (pools: ReadonlySet<string>) => void;

  /** `onChange` is called with the pools that other labels may be wanted for. */
  constructor(onChange: (pools: ReadonlySet<string>) => void) {
    this.#onChange = onChange;
  }

  /** The one that counts for a pool. */
  of(pool: string | undefined): ObservedPoolLabelSet | undefined {
    return pool === undefined ? undefined : this.#byPool.get(pool)?.[0];
  }

  all(): Iterable<ObservedPoolLabelSet> {
    return this.#byName.values();
  }

  statusOf(name: string): unknown {
    return this.#statuses.get(name);
  }

  noteStatus(name: string, status: unknown): void {
    if (this.#byName.has(name)) this.#statuses.set(name, status);
  }

  /** The sets as they would be with these beside the others, or in their place. */
  with(sets: readonly ObservedPoolLabelSet[]): PoolLabelSets {
    const proposed = new PoolLabelSets(() => {});
    for (const set of this.#byName.values()) proposed.upsert(set);
    for (const set of sets) {
      const before = this.#byName.get(set.name);
      // One that is there keeps its age, by which it counts, and is another generation of itself.
      proposed.upsert(before ? { ...set, createdAt: before.createdAt, generation: before.generation + 1 } : set);
    }
    return proposed;
  }

  replace(sets: readonly ObservedPoolLabelSet[]): void {
    const listed = new Set(sets.map(({ name }) => name));
    const changed = new Set<string>();
    for (const { name, pool } of [...this.#byName.values()]) {
      if (!listed.has(name)) this.#set(name, undefined, changed.add(pool));
    }
    for (const set of sets) this.#set(set.name, set, changed);
    if (changed.size > 0) this.#onChange(changed);
  }

  upsert(set: ObservedPoolLabelSet): void {
    const changed = new Set<string>();
    this.#set(set.name, set, changed);
    if (changed.size > 0) this.#onChange(changed);
  }

  remove({ name }: Pick<ObservedPoolLabelSet, 'name'>): void {
    const changed = new Set<string>();
    this.#set(name, undefined, changed);
    if (changed.size > 0) this.#onChange(changed);
  }

  #set(name: string, next: ObservedPoolLabelSet | undefined, changed: Set<string>): void {
    const previous = this.#byName.get(name);
    if (next) this.#statuses.set(name, next.status);
    else this.#statuses.delete(name);
    if (previous && next && isSame(previous, next)) return;
    if (previous) {
      const left = this.#byPool.get(previous.pool)?.filter((each) => each !== previous) ?? [];
      if (left.length > 0) this.#byPool.set(previous.pool, left);
      else this.#byPool.delete(previous.pool);
      this.#byName.delete(name);
      changed.add(previous.pool);
    }
    if (!next) return;
    this.#byName.set(name, next);
    this.#byPool.set(next.pool, [...(this.#byPool.get(next.pool) ?? []), next].sort(byAge));
    changed.add(next.pool);
  }
}

function byAge(a: ObservedPoolLabelSet, b: ObservedPoolLabelSet): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

/** An event about the status alone changes nothing here. */
function isSame(a: ObservedPoolLabelSet, b: ObservedPoolLabelSet): boolean {
  return a.uid === b.uid && a.generation === b.generation && a.pool === b.pool;
}
