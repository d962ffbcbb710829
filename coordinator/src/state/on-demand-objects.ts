import type { ObservedNodeFeature } from './node-features.ts';
import { NodeIndexer, type OnNode } from './node-indexer.ts';
import type { ObservedResourceSlice } from './resource-slices.ts';

/** Objects of nodes that are watched only while a rule asks for what they say. */
export class OnDemandObjects<T extends OnNode> {
  readonly #onChange: (node: string) => void;
  readonly #onKnown: () => void;
  #index: NodeIndexer<T>;
  #known = false;

  /** `onKnown`: whether they are known is other than before. */
  constructor(onChange: (node: string) => void, onKnown: () => void) {
    this.#onChange = onChange;
    this.#onKnown = onKnown;
    this.#index = this.#empty();
  }

  /** The objects of a node; `undefined` while they are not known. */
  on(node: string): readonly T[] | undefined {
    return this.#known ? this.#index.on(node) : undefined;
  }

  replace(all: readonly T[]): void {
    this.#index.replace(all);
    if (this.#known) return;
    this.#known = true;
    this.#onKnown();
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
    this.#onKnown();
  }

  #empty(): NodeIndexer<T> {
    return new NodeIndexer<T>((previous, next) => {
      for (const node of new Set([previous, next].flatMap((each) => each?.node ?? []))) this.#onChange(node);
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

  /** `onKnown`: whether some of it is known is other than before. */
  constructor(onChange: (node: string) => void, onKnown: () => void) {
    this.slices = new OnDemandObjects(onChange, onKnown);
    this.nodeFeatures = new OnDemandObjects(onChange, onKnown);
  }

  on(node: string): OnDemandOnNode {
    return { slices: this.slices.on(node), nodeFeatures: this.nodeFeatures.on(node) };
  }
}
