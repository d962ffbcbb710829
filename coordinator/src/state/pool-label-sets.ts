import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import type { NodePoolLabelSet } from '../kube/objects.ts';
import { Collection } from './collection.ts';

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

/** The sets of a namespace, by pool. Each kind is a part of its own. */
export function createPoolLabelSets(): Collection<ObservedPoolLabelSet> {
  // Labels change with the generation.
  const isSame = (a: ObservedPoolLabelSet, b: ObservedPoolLabelSet) =>
    a.uid === b.uid && a.generation === b.generation && a.pool === b.pool;
  return new Collection({ at: ({ pool }) => pool, isSame, lostIsUnknown: true });
}

/** The one that counts of several for a pool: the oldest. */
export function countingSet(sets: readonly ObservedPoolLabelSet[]): ObservedPoolLabelSet | undefined {
  return sets.length < 2 ? sets[0] : sets.toSorted(byAge)[0];
}

/** Finds the set that would count for a pool with these sets beside the others, or in their place. */
export function proposedSets(
  there: Collection<ObservedPoolLabelSet>,
  sets: readonly ObservedPoolLabelSet[],
): (pool: string | undefined) => ObservedPoolLabelSet | undefined {
  const idOf = ({ kind, name }: ObservedPoolLabelSet) => `${kind}/${name}`;
  const all = new Map(there.all().map((set) => [idOf(set), set]));
  for (const set of sets) {
    const before = all.get(idOf(set));
    // One that is there keeps its age, by which it counts, and is another generation of itself.
    all.set(idOf(set), before ? { ...set, createdAt: before.createdAt, generation: before.generation + 1 } : set);
  }
  const byPool = Map.groupBy(all.values(), ({ pool }) => pool);
  return (pool) => countingSet((pool !== undefined && byPool.get(pool)) || []);
}

function byAge(a: ObservedPoolLabelSet, b: ObservedPoolLabelSet): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.kind < b.kind ? -1 : 1;
}
