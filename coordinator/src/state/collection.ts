import type { ResourceEventHandler } from '../kube/reflector.ts';
import { isSameButStatus } from '../model/same-but-status.ts';

/** An object that is kept: whatever it has beside these fields decides, except for its status. */
export type Kept = { uid: string; name: string; namespace?: string; status?: unknown };

/** An object that is on a node, or on none (''). */
export type OnNode = { uid: string; namespace: string; name: string; node: string };

/** Stands in the place of a node for what may be for any of them; no Node has this name. */
export const EVERY_NODE = '*';

/**
 * - `never`: no list has come, or none of what is watched now
 * - `listed`: the objects are those that there are
 * - `lost`: the watch failed, and the objects may be old
 */
export type Known = 'never' | 'listed' | 'lost';

/** An object came (no `previous`), went (no `next`), or differs in what is kept of it. */
export type ObjectChange<T> = { previous: T | undefined; next: T | undefined };

export type CollectionListener<T> = {
  /** An event changed an object, or the objects of a part are no longer watched. */
  changed: (changes: readonly ObjectChange<T>[]) => void;
  /** A list was taken in. What came is before what went. `isNews`: the objects of the part were not known before. */
  listed: (changes: readonly ObjectChange<T>[], isNews: boolean) => void;
};

export type CollectionOptions<T> = {
  /** Returns where `on` finds an object; '' for an object that is not kept. */
  at: (object: T) => string;
  /** Whether nothing that is kept differs. Defaults to a deep comparison, without the status. */
  isSame?: (a: T, b: T) => boolean;
  /** An old picture is worse than none: a failure of the watch makes a part unknown, and it is listed anew. */
  lostIsUnknown?: boolean;
};

type Part<T> = { objects: Map<string, T>; known: Known };

const NONE: readonly never[] = [];

/**
 * Watched objects, by name and by place. Its parts, such as namespaces, are watched separately, each known for itself. An
 * object of which nothing but the status changed stays the same object.
 */
export class Collection<T extends Kept> {
  readonly #options: CollectionOptions<T>;
  readonly #parts = new Map<string, Part<T>>();
  readonly #byPlace = new Map<string, Set<T>>();
  /** The lists that were asked for; not changed but made anew: one that is the very same holds the same objects. */
  readonly #lists = new Map<string, readonly T[]>();
  #listener: CollectionListener<T> = { changed: () => {}, listed: () => {} };

  constructor(options: CollectionOptions<T>) {
    this.#options = options;
  }

  /** From now on this listener hears of every change. */
  onChange(listener: CollectionListener<T>): void {
    this.#listener = listener;
  }

  known(part = ''): Known {
    return this.#parts.get(part)?.known ?? 'never';
  }

  isKnown(part = ''): boolean {
    return this.known(part) === 'listed';
  }

  /** The very same list as before where nothing changed at the place. */
  on(place: string): readonly T[] {
    const objects = this.#byPlace.get(place);
    if (!objects) return NONE;
    const list = this.#lists.get(place) ?? [...objects];
    this.#lists.set(place, list);
    return list;
  }

  countOn(place: string): number {
    return this.#byPlace.get(place)?.size ?? 0;
  }

  get size(): number {
    return this.#parts.values().reduce((sum, { objects }) => sum + objects.size, 0);
  }

  get(object: Pick<Kept, 'namespace' | 'name'>): T | undefined {
    for (const { objects } of this.#parts.values()) {
      const found = objects.get(keyOf(object));
      if (found) return found;
    }
    return undefined;
  }

  /** All objects, or those of a part. */
  *all(part?: string): Generator<T, void> {
    const parts = part === undefined ? this.#parts.values() : [this.#parts.get(part)];
    for (const each of parts) if (each) yield* each.objects.values();
  }

  /** A status was written to an object: the watch tells it later. */
  noteStatus(object: Pick<Kept, 'uid' | 'namespace' | 'name'>, status: unknown): void {
    // Objects of two kinds may have one name.
    for (const { objects } of this.#parts.values()) {
      const there = objects.get(keyOf(object));
      if (there?.uid === object.uid) there.status = status;
    }
  }

  /** What a watch of a part is handed to. */
  handlers(name = ''): ResourceEventHandler<T> {
    const one = (act: (part: Part<T>, changes: ObjectChange<T>[]) => void) => {
      const changes: ObjectChange<T>[] = [];
      act(this.#part(name), changes);
      if (changes.length > 0) this.#listener.changed(changes);
    };
    const onLost = () => {
      this.#part(name).known = 'lost';
    };
    return {
      onReplace: (objects) => this.#replace(this.#part(name), objects),
      onUpsert: (object) => one((part, changes) => this.#put(part, object, changes)),
      onDelete: (object) => one((part, changes) => this.#remove(part, keyOf(object), changes)),
      ...(this.#options.lostIsUnknown ? { onLost } : { onRefused: onLost }),
    };
  }

  /** Other objects of a part are watched from now on. Those that are there stay, and are not known until the next list. */
  renew(part = ''): void {
    this.#part(part).known = 'never';
    this.#lists.clear();
  }

  /** A part is no longer watched: nothing is known of it. */
  forget(name = ''): void {
    const part = this.#parts.get(name);
    if (!part) return;
    const changes: ObjectChange<T>[] = [];
    for (const key of [...part.objects.keys()]) this.#remove(part, key, changes, true);
    const { known } = part;
    this.#parts.delete(name);
    if (known === 'listed') this.#listener.listed(changes, true);
    else if (changes.length > 0) this.#listener.changed(changes);
  }

  /** What is at a place changed; `isOfList`: with others. For what is derived from it. */
  protected changedAt(_place: string, _change: ObjectChange<T>, _isOfList: boolean): void {}

  #part(name: string): Part<T> {
    const part = this.#parts.get(name) ?? { objects: new Map(), known: 'never' };
    this.#parts.set(name, part);
    return part;
  }

  #replace(part: Part<T>, objects: readonly T[]): void {
    const changes: ObjectChange<T>[] = [];
    const listed = new Set(objects.map(keyOf));
    for (const object of objects) this.#put(part, object, changes, true);
    for (const key of [...part.objects.keys()]) if (!listed.has(key)) this.#remove(part, key, changes, true);
    const isNews = part.known !== 'listed';
    part.known = 'listed';
    this.#listener.listed(changes, isNews);
  }

  #put(part: Part<T>, object: T, changes: ObjectChange<T>[], isOfList = false): void {
    const { at, isSame = isSameButStatus } = this.#options;
    const key = keyOf(object);
    const previous = part.objects.get(key);
    if (previous && isSame(previous, object)) {
      if (Object.hasOwn(object, 'status')) previous.status = object.status;
      return;
    }
    const next = at(object) === '' ? undefined : object;
    if (next) part.objects.set(key, next);
    else part.objects.delete(key);
    this.#move({ previous, next }, changes, isOfList);
  }

  #remove(part: Part<T>, key: string, changes: ObjectChange<T>[], isOfList = false): void {
    const previous = part.objects.get(key);
    part.objects.delete(key);
    this.#move({ previous, next: undefined }, changes, isOfList);
  }

  #move(change: ObjectChange<T>, changes: ObjectChange<T>[], isOfList: boolean): void {
    const { previous, next } = change;
    if (!previous && !next) return;
    const { at } = this.#options;
    const [from, to] = [previous && at(previous), next && at(next)];
    if (previous && from !== undefined) {
      const objects = this.#byPlace.get(from);
      objects?.delete(previous);
      if (objects?.size === 0) this.#byPlace.delete(from);
    }
    if (next && to !== undefined) {
      const objects = this.#byPlace.get(to);
      if (objects) objects.add(next);
      else this.#byPlace.set(to, new Set([next]));
    }
    for (const place of new Set([from, to])) {
      if (place === undefined) continue;
      this.#lists.delete(place);
      this.changedAt(
        place,
        { previous: place === from ? previous : undefined, next: place === to ? next : undefined },
        isOfList,
      );
    }
    changes.push(change);
  }
}

/** The places where something changed, each once. */
export function placesOf<T>(changes: readonly ObjectChange<T>[], at: (object: T) => string): ReadonlySet<string> {
  return new Set(changes.flatMap(({ previous, next }) => [previous, next].flatMap((each) => (each ? [at(each)] : []))));
}

/** Whether each field is the very same, for objects whose fields are shared. */
export function hasSameFields<T extends Kept>(a: T, b: T): boolean {
  return (Object.keys(a) as (keyof T)[]).every((key) => a[key] === b[key]);
}

function keyOf({ namespace = '', name }: Pick<Kept, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}
