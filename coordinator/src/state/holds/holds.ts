import type { Clock } from '@rollcall/common/clock.ts';
import { gathered } from '@rollcall/common/gathered.ts';
import { selects } from '../../model/label-selector.ts';
import { Collection, type ObjectChange, placesOf } from '../collection.ts';
import { PodCollection, selectedIn } from '../pod-collection.ts';
import type { HoldingPod } from './holding-pod.ts';
import type { HeldPods, ObservedNodeHold } from './node-hold.ts';

/** What keeps a node because of NodeHolds. */
export type NodeHolds = {
  pods: readonly { hold: string; namespace: string; name: string }[];
  /** How many there are, where they are more than `pods` names. */
  count?: number;
  /** What is not known about the node's holds, for people; there may be more then. */
  unknown: string | undefined;
};

/** Hears of changes. */
export type HoldsListener = {
  /** A node may be kept, or no longer. */
  nodeChanged: (node: string) => void;
  /** Pods are known that were not, or no longer: any node may be kept, or no longer. */
  known: () => void;
  /** Other NodeHolds are in force. */
  changed: () => void;
};

/** Changes within so long are taken in together: each of them concerns every node. */
const GATHER_MS = 50;
/** Pods that are named of those that keep a node. */
const NAMED_MAX = 100;

/** The NodeHolds, and the pods that they name. */
export class Holds {
  readonly all = new Collection<ObservedNodeHold>({ at: ({ name }) => name, lostIsUnknown: true });
  // Nodes would be let go of by what was so before.
  readonly pods = new PodCollection<HoldingPod>({ lostIsUnknown: true });
  #listener: HoldsListener = { nodeChanged: () => {}, known: () => {}, changed: () => {} };
  /** A change was not told yet, so that other pods may be watched than those that are asked for. */
  #isChanging = false;

  constructor(clock: Clock) {
    const tell = () => {
      this.#isChanging = false;
      this.#listener.changed();
    };
    const soon = gathered(clock, GATHER_MS, () => this.#isChanging && tell());
    this.all.onChange({
      changed: () => {
        this.#isChanging = true;
        soon();
      },
      listed: (changes, isNews) => {
        if (isNews || this.#isChanging || changes.length > 0) tell();
      },
    });
    const nodesChanged = (changes: readonly ObjectChange<HoldingPod>[]) => {
      for (const node of placesOf(changes, ({ node }) => node)) this.#listener.nodeChanged(node);
    };
    this.pods.onChange({
      changed: nodesChanged,
      listed: (changes, isNews) => {
        nodesChanged(changes);
        if (isNews) this.#listener.known();
      },
    });
  }

  /** From now on this listener hears of every change. */
  onChange(listener: HoldsListener): void {
    this.#listener = listener;
  }

  objects(): readonly ObservedNodeHold[] {
    return [...this.all.all()];
  }

  /** The pods to watch. */
  wanted(): HeldPods[] {
    return this.objects().flatMap(({ pods }) => pods ?? []);
  }

  /** What keeps a node. */
  on(node: string): NodeHolds {
    const there = this.pods.on(node);
    const inForce = this.objects().filter(({ pods }) => pods);
    const held = inForce.flatMap(({ name: hold, pods }) => (pods ? { hold, pods: selectedIn(there, pods) } : []));
    const count = held.reduce((sum, each) => sum + each.pods.length, 0);
    const pods = held
      .flatMap((each) =>
        each.pods.slice(0, NAMED_MAX).map(({ namespace, name }) => ({ hold: each.hold, namespace, name })),
      )
      .slice(0, NAMED_MAX);
    return { pods, ...(count > pods.length ? { count } : {}), unknown: this.#unknown() };
  }

  #unknown(): string | undefined {
    if (!this.all.isKnown()) return 'the NodeHolds have not been listed yet';
    if (this.#isChanging) return 'the NodeHolds have just changed';
    for (const { name, problem, pods } of this.all.all()) {
      if (problem !== undefined) return `the NodeHold ${name} is not understood: ${problem}`;
      if (pods && !this.pods.isKnown(pods.namespace))
        return `the pods of the NodeHold ${name} have not been listed yet`;
    }
    return undefined;
  }

  /** The nodes that pods of a NodeHold are on. */
  nodesHeldBy(hold: ObservedNodeHold): ReadonlySet<string> {
    const pods = hold.pods ? [...this.pods.all(hold.pods.namespace)] : [];
    return new Set(pods.filter((pod) => isHeldBy(hold, pod)).map(({ node }) => node));
  }
}

function isHeldBy({ pods }: ObservedNodeHold, { namespace, labels }: HoldingPod): boolean {
  return pods !== undefined && pods.namespace === namespace && selects(pods.selector, labels);
}
