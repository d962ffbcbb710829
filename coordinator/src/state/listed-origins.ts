import type { ListedKind } from '../model/keys/key-kinds.ts';
import { keysOn, listedKey, type NodeKeys, type Origin } from './node-keys.ts';
import type { ObservedNode } from './observed-node.ts';

/** On how many Nodes each key is listed as set by rollcall, by origin. Kept up to date as Nodes change. */
export class ListedOrigins {
  readonly #counts = new Map<string, Map<Origin, number>>();
  #revision = 0;

  /** Grows when a key is listed for the first time for an origin, or on no Node any more. */
  get revision(): number {
    return this.#revision;
  }

  /** A Node changed, came (`previous` is absent) or went. */
  changed(previous: ObservedNode | undefined, next: ObservedNode | undefined): void {
    const [before, after] = [previous && keysOn(previous), next && keysOn(next)];
    if (before === after || (previous && next && areSame(previous, next))) return;
    this.#add(before, -1);
    this.#add(after, 1);
  }

  /** Whether some Node lists the key with such an origin. */
  has(kind: ListedKind, key: string, hasOrigin: (origin: Origin) => boolean): boolean {
    return this.#counts.get(listedKey(kind, key))?.keys().some(hasOrigin) === true;
  }

  #add(keys: NodeKeys | undefined, by: 1 | -1): void {
    for (const [id, origin] of keys ?? []) {
      const counts = this.#counts.get(id) ?? new Map<Origin, number>();
      const count = (counts.get(origin) ?? 0) + by;
      if (count === 0 || (by === 1 && count === 1)) this.#revision += 1;
      if (count > 0) this.#counts.set(id, counts.set(origin, count));
      else counts.delete(origin);
      if (counts.size === 0) this.#counts.delete(id);
    }
  }
}

/** Most changes of a Node leave its annotations alone. */
function areSame({ annotations: a }: ObservedNode, { annotations: b }: ObservedNode): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
