import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import type { NodePoolLabelSet } from '../kube/objects.ts';
import type { Collection } from './node-indexer.ts';

/** The kinds that give nodes the labels of their pool, ours and Banzai's, with what is watched of each. */
export const POOL_LABEL_RESOURCES = {
  NodePoolLabels: WATCHED.nodePoolLabels,
  NodePoolLabelSet: WATCHED.nodePoolLabelSets,
} as const satisfies Record<string, WatchedResource>;

export type PoolLabelKind = keyof typeof POOL_LABEL_RESOURCES;
export const POOL_LABEL_KINDS = ['NodePoolLabels', 'NodePoolLabelSet'] as const satisfies readonly PoolLabelKind[];

export function isPoolLabelKind(kind: unknown): kind is PoolLabelKind {
  return POOL_LABEL_KINDS.some((each) => each === kind);
}

/** A NodePoolLabels or NodePoolLabelSet, trimmed to what decisions need; both are called a set. */
export type ObservedPoolLabelSet = {
  kind: PoolLabelKind;
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

export function observePoolLabelSet(
  kind: PoolLabelKind,
  { metadata, spec, status }: NodePoolLabelSet,
): ObservedPoolLabelSet {
  return {
    kind,
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

type SetId = Pick<ObservedPoolLabelSet, 'kind' | 'name'>;

/** The sets of a namespace, of either kind. Of several for one pool the oldest counts. */
export class PoolLabelSets {
  readonly #byId = new Map<string, ObservedPoolLabelSet>();
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

  all(kind: PoolLabelKind): ObservedPoolLabelSet[] {
    return [...this.#byId.values()].filter((set) => set.kind === kind);
  }

  statusOf(set: SetId): unknown {
    return this.#statuses.get(idOf(set));
  }

  noteStatus(set: SetId, status: unknown): void {
    if (this.#byId.has(idOf(set))) this.#statuses.set(idOf(set), status);
  }

  /** The sets as they would be with these beside the others, or in their place. */
  with(sets: readonly ObservedPoolLabelSet[]): PoolLabelSets {
    const proposed = new PoolLabelSets(() => {});
    for (const set of this.#byId.values()) proposed.upsert(set);
    for (const set of sets) {
      const before = this.#byId.get(idOf(set));
      // One that is there keeps its age, by which it counts, and is another generation of itself.
      proposed.upsert(before ? { ...set, createdAt: before.createdAt, generation: before.generation + 1 } : set);
    }
    return proposed;
  }

  /** The objects of one kind, as a watch keeps them up to date. */
  ofKind(kind: PoolLabelKind): Collection<ObservedPoolLabelSet> {
    return {
      replace: (sets) => this.#replace(kind, sets),
      upsert: (set) => this.upsert(set),
      remove: (set) => this.#change((changed) => this.#set(idOf(set), undefined, changed)),
    };
  }

  upsert(set: ObservedPoolLabelSet): void {
    this.#change((changed) => this.#set(idOf(set), set, changed));
  }

  #replace(kind: PoolLabelKind, sets: readonly ObservedPoolLabelSet[]): void {
    const listed = new Set(sets.map(idOf));
    this.#change((changed) => {
      for (const { name, pool } of this.all(kind)) {
        const id = idOf({ kind, name });
        if (!listed.has(id)) this.#set(id, undefined, changed.add(pool));
      }
      for (const set of sets) this.#set(idOf(set), set, changed);
    });
  }

  #change(act: (changed: Set<string>) => void): void {
    const changed = new Set<string>();
    act(changed);
    if (changed.size > 0) this.#onChange(changed);
  }

  #set(id: string, next: ObservedPoolLabelSet | undefined, changed: Set<string>): void {
    const previous = this.#byId.get(id);
    if (next) this.#statuses.set(id, next.status);
    else this.#statuses.delete(id);
    if (previous && next && isSame(previous, next)) return;
    if (previous) {
      const left = this.#byPool.get(previous.pool)?.filter((each) => each !== previous) ?? [];
      if (left.length > 0) this.#byPool.set(previous.pool, left);
      else this.#byPool.delete(previous.pool);
      this.#byId.delete(id);
      changed.add(previous.pool);
    }
    if (!next) return;
    this.#byId.set(id, next);
    this.#byPool.set(next.pool, [...(this.#byPool.get(next.pool) ?? []), next].sort(byAge));
    changed.add(next.pool);
  }
}

function idOf({ kind, name }: SetId): string {
  return `${kind}/${name}`;
}

function byAge(a: ObservedPoolLabelSet, b: ObservedPoolLabelSet): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.kind < b.kind ? -1 : 1;
}

/** An event about the status alone changes nothing here. */
function isSame(a: ObservedPoolLabelSet, b: ObservedPoolLabelSet): boolean {
  return a.uid === b.uid && a.generation === b.generation && a.pool === b.pool;
}
