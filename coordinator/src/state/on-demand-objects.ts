import type { ObservedNodeFeature } from './node-features.ts';
import { EVERY_NODE, NodeIndexer, type OnNode } from './node-indexer.ts';
import type { ObservedResourceSlice } from './resource-slices.ts';

/** Objects of nodes that are watched only while a rule asks for what they say. */
export class OnDemandObjects<T extends OnNode> {
  readonly #onChange: (node: string) => void;
  readonly #onEvery: () => void;
  #index: NodeIndexer<T>;
  #known = false;

  /** `onEvery`: what is known of every node may be other than before. */
  constructor(onChange: (node: string) => void, onEvery: () => void) {
    this.#onChange = onChange;
    this.#onEvery = onEvery;
    this.#index = this.#empty();
  }

  /** The objects of a node, and those that may be for any; `undefined` while they are not known. */
  on(node: string): readonly T[] | undefined {
    if (!this.#known) return undefined;
    const [own, shared] = [this.#index.on(node), this.#index.on(EVERY_NODE)];
    return shared.length === 0 ? own : [...own, ...shared];
  }

  replace(all: readonly T[]): void {
    this.#index.replace(all);
    if (this.#known) return;
    this.#known = true;
    this.#onEvery();
  }

  upsert(object: T): void {
    this.#index.upsert(object);
  }

  remove(object: T): void {
    this.#index.remove(object);
  }

  /** They are no longer asked for, or others are: nothing is known of them. */
  forget(): void {
    this.#index = this.#empty();
    if (!this.#known) return;
    this.#known = false;
    this.#onEvery();
  }

  #empty(): NodeIndexer<T> {
    return new NodeIndexer<T>((previous, next) => {
      const nodes = new Set([previous, next].flatMap((each) => each?.node ?? []));
      if (nodes.has(EVERY_NODE)) this.#onEvery();
      else for (const node of nodes) this.#onChange(node);
    }, isAlike);
  }
}

function isAlike(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Objects of a node that are watched only while a rule asks for them; `undefined` while they are not known. */
export type OnDemandOnNode = {
  slices: readonly ObservedResourceSlice[] | undefined;
  nodeFeatures: readonly ObservedNodeFeature[] | undefined;
};

/** All that is watched only while a rule asks for it. */
export class OnDemand {
  readonly slices: OnDemandObjects<ObservedResourceSlice>;
  readonly nodeFeatures: OnDemandObjects<ObservedNodeFeature>;

  /** `onEvery`: what is known of every node may be other than before. */
  constructor(onChange: (node: string) => void, onEvery: () => void) {
    this.slices = new OnDemandObjects(onChange, onEvery);
    this.nodeFeatures = new OnDemandObjects(onChange, onEvery);
  }

  on(node: string): OnDemandOnNode {
    return { slices: this.slices.on(node), nodeFeatures: this.nodeFeatures.on(node) };
  }
}
