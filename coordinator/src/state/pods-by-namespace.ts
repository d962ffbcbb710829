import { formatSelector, type LabelSelector, selects } from '../model/label-selector.ts';
import { NodeIndexer, type OnNode } from './node-indexer.ts';

/** Hears of changes of pods. */
export type PodsListener<T> = {
  changed: (previous: T | undefined, next: T | undefined) => void;
  /** The pods of a namespace are known for the first time, or again. */
  listed: () => void;
};

/** `lostIsUnknown`: an old picture is worse than none, so what is known of a namespace ends with its watch. */
export type PodsByNamespaceOptions = { lostIsUnknown?: true };

const NONE: readonly never[] = [];

type Labelled = OnNode & { labels: Readonly<Record<string, string>> };
type Wanted = { namespace: string; selector: LabelSelector };
/** The pods of a node that each selector selects. */
type Selected = Map<string, Wanted & { pods: readonly Labelled[] }>;

/** Pods on a node from which what selectors select is kept from one change to the next. */
const MANY = 64;
const selectedOf = new WeakMap<readonly OnNode[], Selected>();

/**
 * The pods of a node that a selector selects. Where there are many, the very same list as before where nothing changed for
 * the selector, so that a change of a pod costs only those that select it.
 */
export function selectedIn<T extends Labelled>(pods: readonly T[], { namespace, selector }: Wanted): readonly T[] {
  const isSelected = (pod: T) => pod.namespace === namespace && selects(selector, pod.labels);
  const known = selectedOf.get(pods);
  if (!known) return pods.filter(isSelected);
  const key = `${namespace} ${formatSelector(selector)}`;
  const found = known.get(key) ?? { namespace, selector, pods: pods.filter(isSelected) };
  known.set(key, found);
  return found.pods as readonly T[];
}

/** What selectors select after a pod of the node took the place of another, or of none. */
function afterChange(known: Selected, before: Labelled | undefined, after: Labelled | undefined): Selected {
  const next: Selected = new Map();
  for (const [key, wanted] of known) {
    const [was, is] = [before, after].map(
      (pod) => pod?.namespace === wanted.namespace && selects(wanted.selector, pod.labels),
    );
    const at = was && before ? wanted.pods.indexOf(before) : -1;
    const others = at < 0 ? wanted.pods : wanted.pods.toSpliced(at, 1);
    next.set(key, was || is ? { ...wanted, pods: is && after ? [...others, after] : others } : wanted);
  }
  return next;
}

/** Pods by node. Each namespace is watched on its own. */
export class PodsByNamespace<T extends Labelled> {
  readonly #namespaces = new Map<string, { pods: NodeIndexer<T>; isKnown: boolean }>();
  /** Pods of the nodes that were asked about, until something changes there. */
  readonly #onNode = new Map<string, readonly T[]>();
  /** What selectors select on nodes with many pods. */
  readonly #selected = new Map<string, Selected>();
  /** Nodes with a change of theirs, while a list is taken in. */
  #listing: Map<string, [previous: T | undefined, next: T | undefined]> | undefined;
  readonly #options: PodsByNamespaceOptions;
  #listener: PodsListener<T> = { changed: () => {}, listed: () => {} };
  #revision = 0;

  constructor(options: PodsByNamespaceOptions = {}) {
    this.#options = options;
  }

  /** From now on this listener hears of every change. */
  onChange(listener: PodsListener<T>): void {
    this.#listener = listener;
  }

  /** The very same list as before where nothing changed on the node. */
  on(node: string): readonly T[] {
    const known = this.#onNode.get(node);
    if (known) return known;
    const lists = [...this.#namespaces.values()].map(({ pods }) => pods.on(node)).filter(({ length }) => length > 0);
    const [first = NONE] = lists;
    const all = lists.length < 2 ? first : lists.flat();
    if (lists.length > 1 || all.length >= MANY) this.#onNode.set(node, all);
    if (all.length < MANY) return all;
    const selected = this.#selected.get(node) ?? new Map();
    this.#selected.set(node, selected);
    selectedOf.set(all, selected);
    return all;
  }

  in(namespace: string): Iterable<T> {
    return this.#namespaces.get(namespace)?.pods.all() ?? [];
  }

  /** Grows with each change. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether the pods of a namespace were listed. */
  knows(namespace: string): boolean {
    return this.#namespaces.get(namespace)?.isKnown === true;
  }

  /** What a watch of the pods of a namespace is to be handed to. One that takes the place of another goes on with its pods. */
  handlers(namespace: string) {
    const { lostIsUnknown } = this.#options;
    const changed: PodsListener<T>['changed'] = (...change) => {
      this.#revision += 1;
      for (const node of new Set(change.flatMap((pod) => pod?.node ?? []))) {
        const [before, after] = change.map((pod) => (pod?.node === node ? pod : undefined));
        this.#onNode.delete(node);
        const selected = this.#selected.get(node);
        if (selected && this.#countOn(node) >= MANY) this.#selected.set(node, afterChange(selected, before, after));
        else this.#selected.delete(node);
        if (this.#listing && (before || !this.#listing.has(node))) this.#listing.set(node, [before, after]);
      }
      if (!this.#listing) this.#listener.changed(...change);
    };
    const entry = this.#namespaces.get(namespace) ?? { pods: new NodeIndexer<T>(changed), isKnown: false };
    this.#namespaces.set(namespace, entry);
    // Of those that only the new watch asks for nothing is known yet.
    entry.isKnown = false;
    // Other selectors may be asked for.
    this.#selected.clear();
    this.#onNode.clear();
    const onLost = () => {
      entry.isKnown = false;
    };
    return {
      onReplace: (all: T[]) => {
        this.#replace(entry.pods, all);
        if (entry.isKnown) return;
        entry.isKnown = true;
        this.#listener.listed();
      },
      onUpsert: (pod: T) => entry.pods.upsert(pod),
      onDelete: (pod: T) => entry.pods.remove(pod),
      ...(lostIsUnknown ? { onLost } : {}),
    };
  }

  #countOn(node: string): number {
    return this.#namespaces.values().reduce((sum, { pods }) => sum + pods.countOn(node), 0);
  }

  /** Takes in all pods, and tells each node once. */
  #replace(pods: NodeIndexer<T>, all: T[]): void {
    const changes = new Map<string, [T | undefined, T | undefined]>();
    this.#listing = changes;
    this.#selected.clear();
    pods.replace(all);
    this.#listing = undefined;
    for (const change of changes.values()) this.#listener.changed(...change);
  }

  /** The pods of this namespace are no longer asked for. */
  forget(namespace: string): void {
    const entry = this.#namespaces.get(namespace);
    if (entry) this.#replace(entry.pods, []);
    this.#namespaces.delete(namespace);
  }
}
