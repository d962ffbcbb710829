import type { WATCHED } from '@rollcall/common/watched-resources.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { observeDaemonPod, observeDaemonSet } from './daemon-sets.ts';
import { observeNodeFeature } from './node-features.ts';
import { EVERY_NODE, NodeIndexer, type OnNode } from './node-indexer.ts';
import type { ObservedNode } from './observed-node.ts';
import { NOT_ENDED } from './observed-pod.ts';
import { observeResourceSlice } from './resource-slices.ts';

/** Objects of nodes that are watched only while a rule or a check asks for what they say. */
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

/** What a watch is handed to. */
export type OnDemandCollection<T extends OnNode> = Pick<
  OnDemandObjects<T>,
  'on' | 'replace' | 'upsert' | 'remove' | 'forget'
>;

/** A resource with objects of nodes, and what is kept of an object; of some, only what is asked for by these names. */
export type OnDemandRow = {
  watched: keyof typeof WATCHED;
  observe: (raw: never, names: readonly string[]) => OnNode;
  /** Objects in a page of the list. */
  pageSize?: number;
  fieldSelector?: string;
  /** It is only of use for nodes behind the startup gate, which asks for it. */
  isForGate?: true;
};

/** All that is watched only while a rule, a check or the startup gate asks for it. */
export const ON_DEMAND = {
  slices: { watched: 'resourceSlices', observe: observeResourceSlice },
  // Each has some hundred kilobytes, since NFD includes the whole configuration of the kernel.
  nodeFeatures: { watched: 'nodeFeatures', observe: observeNodeFeature, pageSize: 50 },
  daemonSets: { watched: 'daemonSets', observe: observeDaemonSet, isForGate: true },
  daemonPods: { watched: 'pods', observe: observeDaemonPod, isForGate: true, fieldSelector: NOT_ENDED },
} as const satisfies Readonly<Record<string, OnDemandRow>>;

export type OnDemandName = keyof typeof ON_DEMAND;
type Observed<N extends OnDemandName> = ReturnType<(typeof ON_DEMAND)[N]['observe']>;

/** Objects of a node; `undefined` while they are not known. */
export type OnDemandOnNode = { readonly [N in OnDemandName]: readonly Observed<N>[] | undefined };

/** Whether a change of these may matter to a node: those for the startup gate do while it has the taint. */
export function mayConcern(name: OnDemandName, node: Pick<ObservedNode, 'taints'> | undefined): boolean {
  const { isForGate }: OnDemandRow = ON_DEMAND[name];
  return !isForGate || node?.taints?.some(({ key }) => key === STARTUP_TAINT) === true;
}

export class OnDemand {
  readonly objects: { readonly [N in OnDemandName]: OnDemandCollection<Observed<N>> };

  /** What is known of a node, or of every node, may be other than before. */
  constructor(onChange: (node: string, name: OnDemandName) => unknown, onEvery: (name: OnDemandName) => unknown) {
    const objectsOf = (name: OnDemandName) =>
      new OnDemandObjects<OnNode>(
        (node) => onChange(node, name),
        () => onEvery(name),
      );
    this.objects = mapOnDemand(objectsOf) as OnDemand['objects'];
  }

  on(node: string): OnDemandOnNode {
    return mapOnDemand((name) => this.objects[name].on(node)) as OnDemandOnNode;
  }
}

export function mapOnDemand<T>(make: (name: OnDemandName) => T): Record<OnDemandName, T> {
  const names = Object.keys(ON_DEMAND) as OnDemandName[];
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<OnDemandName, T>;
}
