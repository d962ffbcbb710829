import type { WATCHED } from '@rollcall/common/watched-resources.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { Collection, EVERY_NODE, type OnNode } from './collection.ts';
import { observeCsiNode } from './csi-nodes.ts';
import { observeDaemonPod, observeDaemonSet } from './daemon-sets.ts';
import { observeNodeFeature } from './node-features.ts';
import type { ObservedNode } from './observed-node.ts';
import { NOT_ENDED } from './observed-pod.ts';
import { observeResourceSlice } from './resource-slices.ts';

/** A resource with objects of nodes, and what is kept of an object; of some, only what is asked for by these names. */
export type OnDemandRow = {
  watched: keyof typeof WATCHED;
  observe: (raw: never, names: readonly string[]) => OnNode;
  /** What rules ask for, by name; `undefined` while they ask for nothing of it. */
  askedBy?: (rules: RuleQuestions) => readonly string[] | undefined;
  /** Objects in a page of the list. */
  pageSize?: number;
  fieldSelector?: string;
  /** It is only of use for nodes behind the startup gate, which asks for it. */
  isForGate?: true;
};

/** What rules ask for, beside what agents answer. */
export type RuleQuestions = {
  usesDra: boolean;
  /** Names of what NodeFeatures say. */
  nfdNames: readonly string[];
  /** Of the features that Nodes declare. */
  declaredFeatures: readonly string[];
};

/** All that is watched only while a rule, a check or the startup gate asks for it. */
export const ON_DEMAND = {
  csiNodes: { watched: 'csiNodes', observe: observeCsiNode },
  slices: {
    watched: 'resourceSlices',
    observe: observeResourceSlice,
    askedBy: ({ usesDra }) => (usesDra ? [] : undefined),
  },
  // Each has some hundred kilobytes, since NFD includes the whole configuration of the kernel.
  nodeFeatures: {
    watched: 'nodeFeatures',
    observe: observeNodeFeature,
    askedBy: ({ nfdNames }) => (nfdNames.length > 0 ? nfdNames : undefined),
    pageSize: 50,
  },
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

/** What is known of them, each known for itself. */
export type OnDemand = { readonly [N in OnDemandName]: Collection<Observed<N>> };

export function createOnDemand(): OnDemand {
  return mapOnDemand(() => new Collection<OnNode>({ at: ({ node }) => node })) as unknown as OnDemand;
}

/** One of them, as far as all are alike. */
export function onDemandObjects(objects: OnDemand, name: OnDemandName): Collection<OnNode> {
  return objects[name] as unknown as Collection<OnNode>;
}

/** The objects of a node, and those that may be for any. */
export function onDemandOn(objects: OnDemand, node: string): OnDemandOnNode {
  return mapOnDemand((name) => {
    const all = onDemandObjects(objects, name);
    if (!all.isKnown()) return undefined;
    const [own, shared] = [all.on(node), all.on(EVERY_NODE)];
    return shared.length === 0 ? own : [...own, ...shared];
  }) as OnDemandOnNode;
}

export function mapOnDemand<T>(make: (name: OnDemandName) => T): Record<OnDemandName, T> {
  const names = Object.keys(ON_DEMAND) as OnDemandName[];
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<OnDemandName, T>;
}
