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

/** Pods by node. Each namespace is watched on its own. */
export class PodsByNamespace<T extends OnNode> {
  readonly #namespaces = new Map<string, { pods: NodeIndexer<T>; isKnown: boolean }>();
  /** Pods of the nodes that were asked about, until something changes there. */
  readonly #onNode = new Map<string, readonly T[]>();
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
    if (lists.length < 2) return first;
    const all = lists.flat();
    this.#onNode.set(node, all);
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
      for (const pod of change) if (pod) this.#onNode.delete(pod.node);
      this.#listener.changed(...change);
    };
    const entry = this.#namespaces.get(namespace) ?? { pods: new NodeIndexer<T>(changed), isKnown: false };
    this.#namespaces.set(namespace, entry);
    // Of those that only the new watch asks for nothing is known yet.
    entry.isKnown = false;
    const onLost = () => {
      entry.isKnown = false;
    };
    return {
      onReplace: (all: T[]) => {
        entry.pods.replace(all);
        if (entry.isKnown) return;
        entry.isKnown = true;
        this.#listener.listed();
      },
      onUpsert: (pod: T) => entry.pods.upsert(pod),
      onDelete: (pod: T) => entry.pods.remove(pod),
      ...(lostIsUnknown ? { onLost } : {}),
    };
  }

  /** The pods of this namespace are no longer asked for. */
  forget(namespace: string): void {
    this.#namespaces.get(namespace)?.pods.replace([]);
    this.#namespaces.delete(namespace);
  }
}
