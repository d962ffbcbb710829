/** An object that is on a node, or on none (''). */
type Placed = { uid: string; namespace: string; name: string; node: string };

/** Watched objects, found by node. Those that are on no node are not in it. */
export class NodeIndex<T extends Placed> {
  readonly #byName = new Map<string, T>();
  readonly #byNode = new Map<string, Map<string, T>>();
  readonly #onChange: (previous: T | undefined, next: T | undefined) => void;

  /** `onChange` is called for an object that came, went, or differs in what is kept of it. */
  constructor(onChange: (previous: T | undefined, next: T | undefined) => void) {
    this.#onChange = onChange;
  }

  on(node: string): T[] {
    return [...(this.#byNode.get(node)?.values() ?? [])];
  }

  all(): Iterable<T> {
    return this.#byName.values();
  }

  get size(): number {
    return this.#byName.size;
  }

  replace(objects: readonly T[]): void {
    const listed = new Set(objects.map(keyOf));
    for (const [key, object] of [...this.#byName]) if (!listed.has(key)) this.remove(object);
    for (const object of objects) this.upsert(object);
  }

  upsert(object: T): void {
    const key = keyOf(object);
    const found = this.#byName.get(key);
    if (found && isSame(found, object)) return;
    // Moved, or another object of the same name whose predecessor's end went unseen.
    if (found && (found.uid !== object.uid || found.node !== object.node)) this.remove(found);
    if (object.node === '') return;
    const previous = this.#byName.get(key);
    this.#byName.set(key, object);
    const onNode = this.#byNode.get(object.node) ?? new Map<string, T>();
    this.#byNode.set(object.node, onNode.set(key, object));
    this.#onChange(previous, object);
  }

  remove(object: Pick<T, 'namespace' | 'name'>): void {
    const key = keyOf(object);
    const previous = this.#byName.get(key);
    if (!previous) return;
    this.#byName.delete(key);
    const onNode = this.#byNode.get(previous.node);
    onNode?.delete(key);
    if (onNode?.size === 0) this.#byNode.delete(previous.node);
    this.#onChange(previous, undefined);
  }
}

function keyOf({ namespace, name }: Pick<Placed, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

function isSame<T extends Placed>(a: T, b: T): boolean {
  return (Object.keys(a) as (keyof T)[]).every((key) => a[key] === b[key]);
}
