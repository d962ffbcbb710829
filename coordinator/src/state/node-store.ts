import { isOlderVersion } from '../kube/objects.ts';
import { type ObservedNode, sameObservation } from './observed-node.ts';

/** `next` is absent when the Node is gone, `previous` when it is new. */
export type NodeChange = { name: string; previous?: ObservedNode; next?: ObservedNode };

/**
 * The Nodes as last seen, from two sources that race: the watch, and the answers to our own writes. Neither can set a
 * Node back to an older state, so that a write is not repeated before the watch delivers it. A Node is known as of one
 * moment: what an answer does not show, such as the taints in metadata alone, is not known until a source shows it.
 */
export class NodeStore {
  readonly #nodes = new Map<string, ObservedNode>();
  readonly #onChange: (change: NodeChange) => void;
  readonly #onVersion: (name: string) => void;
  readonly #settle: (previous: ObservedNode | undefined, next: ObservedNode) => ObservedNode;
  /** Names of the Nodes that were written since the pending list was requested. */
  #writtenMeanwhile: Set<string> | undefined;

  /**
   * `onVersion` is called when only the resourceVersion of a Node changed. `settle` returns what is stored of a Node, with
   * what was learned from the one before.
   */
  constructor(
    onChange: (change: NodeChange) => void,
    onVersion: (name: string) => void = () => {},
    settle: (previous: ObservedNode | undefined, next: ObservedNode) => ObservedNode = (_previous, next) => next,
  ) {
    this.#onChange = onChange;
    this.#onVersion = onVersion;
    this.#settle = settle;
  }

  get(name: string): ObservedNode | undefined {
    return this.#nodes.get(name);
  }

  names(): string[] {
    return [...this.#nodes.keys()];
  }

  all(): ObservedNode[] {
    return [...this.#nodes.values()];
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** A complete list is asked for, which `replace` brings. */
  listing(): void {
    this.#writtenMeanwhile = new Set();
  }

  /**
   * A complete list: what is not in it is gone, and what is in it counts, even where its version is lower. An etcd that
   * was restored from a backup counts from an older revision. Only what was written while the list was under way stays
   * as it was answered where that is newer, and the watch that goes on from the list brings it again. All of it is taken
   * in and told, whatever the listener throws; AggregateError at the end where it did.
   */
  replace(nodes: readonly ObservedNode[]): void {
    const errors: unknown[] = [];
    const guarded = (tell: () => void) => {
      try {
        tell();
      } catch (error) {
        errors.push(error);
      }
    };
    const listed = new Set(nodes.map(({ name }) => name));
    for (const name of this.names()) if (!listed.has(name)) guarded(() => this.remove(name));
    const written = this.#writtenMeanwhile;
    this.#writtenMeanwhile = undefined;
    for (const node of nodes) guarded(() => this.#put(written?.has(node.name) ? this.#newer(node) : node));
    if (errors.length > 0) throw new AggregateError(errors, 'Changes of Nodes met an error', { cause: errors[0] });
  }

  upsert(next: ObservedNode): void {
    const previous = this.#nodes.get(next.name);
    if (!previous || !isOlderVersion(next.resourceVersion, previous.resourceVersion)) this.#put(next);
  }

  /** The Node as it was written, if that is newer. */
  #newer(listed: ObservedNode): ObservedNode {
    const known = this.#nodes.get(listed.name);
    const isNewer = known?.uid === listed.uid && isOlderVersion(listed.resourceVersion, known.resourceVersion);
    return isNewer ? known : listed;
  }

  #put(seen: ObservedNode): void {
    const previous = this.#nodes.get(seen.name);
    const next = this.#settle(previous, seen);
    this.#nodes.set(next.name, next);
    if (!previous) this.#onChange({ name: next.name, next });
    else if (!sameObservation(previous, next)) this.#onChange({ name: next.name, previous, next });
    else if (next.resourceVersion !== previous.resourceVersion) this.#onVersion(next.name);
  }

  /** What the API server answered to a write. A Node that went in the meantime does not come back by it. */
  written(next: ObservedNode): void {
    if (this.#nodes.get(next.name)?.uid !== next.uid) return;
    this.#writtenMeanwhile?.add(next.name);
    this.upsert(next);
  }

  remove(name: string): void {
    const previous = this.#nodes.get(name);
    if (!previous) return;
    this.#nodes.delete(name);
    this.#onChange({ name, previous });
  }
}
