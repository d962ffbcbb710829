/** Objects that a watch keeps up to date. */
export type Collection<T> = { replace(all: readonly T[]): void; upsert(one: T): void; remove(one: T): void };

/** What a watch is to be handed to, for a collection. */
export function eventHandlersOf<T>(collection: Collection<T>) {
  return {
    onReplace: (all: T[]) => collection.replace(all),
    onUpsert: (one: T) => collection.upsert(one),
    onDelete: (one: T) => collection.remove(one),
  };
}
