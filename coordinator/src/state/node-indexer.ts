/** An object that is on a node, or on none (''). */
export type OnNode = { uid: string; namespace: string; name: string; node: string };

/** Stands in the place of a node for what may be for any of them; no Node has this name. */
export const EVERY_NODE = '*';

const NONE: readonly never[] = [];

/** Watched objects, found by node. Those that are on no node are not in it. */
export class NodeIndexer<T extends OnNode> {
  readonly #byName = new Map<string, T>();
  readonly #byNode = new Map<string, Set<T>>();
  /** The lists that were asked for; not changed but made anew: one that is the very same holds the same objects. */
  readonly #lists = new Map<string, readonly T[]>();
  readonly #isSame: (a: T, b: T) => boolean;
  readonly #onChange: (previous: T | undefined, next: T | undefined) => void;

  /**
   * `onChange` is called for an object that came, went, or differs in what is kept of it: in any of its fields, unless
   * `isSame` says otherwise.
   */
  constructor(
    onChange: (previous: T | undefined, next: T | undefined) => void,
    isSame: (a: T, b: T) => boolean = hasSameFields,
  ) {
    this.#onChange = onChange;
    this.#isSame = isSame;
  }

  /** The very same list as before where nothing changed on the node. */
  on(node: string): readonly T[] {
    const objects = this.#byNode.get(node);
    if (!objects) return NONE;
    const list = this.#lists.get(node) ?? [...objects];
    this.#lists.set(node, list);
    return list;
  }

  countOn(node: string): number {
    return this.#byNode.get(node)?.size ?? 0;
  }

  get size(): number {
    return this.#byName.size;
  }

  get(object: Pick<T, 'namespace' | 'name'>): T | undefined {
    return this.#byName.get(keyOf(object));
  }

  all(): Iterable<T> {
    return this.#byName.values();
  }

  /** All that there is. What came is told before what went, so that nothing seems gone that is there under another name. */
  replace(objects: readonly T[]): void {
    const listed = new Set(objects.map(keyOf));
    for (const object of objects) this.upsert(object);
    for (const [key, object] of [...this.#byName]) if (!listed.has(key)) this.remove(object);
  }

  upsert(object: T): void {
    const found = this.#byName.get(keyOf(object));
    if (found && this.#isSame(found, object)) return;
    if (found) this.#unlink(found);
    const next = object.node === '' ? undefined : object;
    if (next) this.#link(next);
    if (found || next) this.#onChange(found, next);
  }

  remove(object: Pick<T, 'namespace' | 'name'>): void {
    const found = this.#byName.get(keyOf(object));
    if (!found) return;
    this.#unlink(found);
    this.#onChange(found, undefined);
  }

  #link(object: T): void {
    this.#byName.set(keyOf(object), object);
    this.#lists.delete(object.node);
    const objects = this.#byNode.get(object.node);
    if (objects) objects.add(object);
    else this.#byNode.set(object.node, new Set([object]));
  }

  #unlink(object: T): void {
    this.#byName.delete(keyOf(object));
    this.#lists.delete(object.node);
    const objects = this.#byNode.get(object.node);
    objects?.delete(object);
    if (objects?.size === 0) this.#byNode.delete(object.node);
  }
}

function keyOf({ namespace, name }: Pick<OnNode, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

function hasSameFields<T extends OnNode>(a: T, b: T): boolean {
  return (Object.keys(a) as (keyof T)[]).every((key) => a[key] === b[key]);
}

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
