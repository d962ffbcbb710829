import type { Clock } from '@rollcall/common/clock.ts';
import { gathered } from '@rollcall/common/gathered.ts';
import { selects } from '../../model/label-selector.ts';
import { isSameButStatus } from '../../model/same-but-status.ts';
import { PodsByNamespace, selectedIn } from '../pods-by-namespace.ts';
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
  /** Other NodeHolds are in force, or what is known of all nodes is. */
  changed: () => void;
};

/** Changes within so long are taken in together: each of them concerns every node. */
const GATHER_MS = 50;
/** Pods that are named of those that keep a node. */
const NAMED_MAX = 100;

/** The NodeHolds, and the pods that they name. */
export class Holds {
  readonly pods: PodsByNamespace<HoldingPod>;
  #listener: HoldsListener = { nodeChanged: () => {}, changed: () => {} };
  readonly #objects = new Map<string, ObservedNodeHold>();
  readonly #soon: () => void;
  #known = false;
  /** A change was not told yet, so that other pods may be watched than those that are asked for. */
  #isChanging = false;

  constructor(clock: Clock) {
    this.#soon = gathered(clock, GATHER_MS, () => this.#told());
    // Nodes would be let go of by what was so before.
    this.pods = new PodsByNamespace<HoldingPod>({ lostIsUnknown: true });
    this.pods.onChange({
      changed: (previous, next) => {
        for (const pod of [previous, next]) if (pod) this.#listener.nodeChanged(pod.node);
      },
      listed: () => this.#listener.changed(),
    });
  }

  /** From now on this listener hears of every change. */
  onChange(listener: HoldsListener): void {
    this.#listener = listener;
  }

  objects(): readonly ObservedNodeHold[] {
    return [...this.#objects.values()];
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
    if (!this.#known) return 'the NodeHolds have not been listed yet';
    if (this.#isChanging) return 'the NodeHolds have just changed';
    for (const { name, problem, pods } of this.#objects.values()) {
      if (problem !== undefined) return `the NodeHold ${name} is not understood: ${problem}`;
      if (pods && !this.pods.knows(pods.namespace)) return `the pods of the NodeHold ${name} have not been listed yet`;
    }
    return undefined;
  }

  #changes(): void {
    this.#isChanging = true;
    this.#soon();
  }

  #told(): void {
    this.#isChanging = false;
    this.#listener.changed();
  }

  /** The nodes that pods of a NodeHold are on. */
  nodesHeldBy(hold: ObservedNodeHold): ReadonlySet<string> {
    const pods = hold.pods ? [...this.pods.in(hold.pods.namespace)] : [];
    return new Set(pods.filter((pod) => isHeldBy(hold, pod)).map(({ node }) => node));
  }

  noteStatus(name: string, status: unknown): void {
    const object = this.#objects.get(name);
    if (object) object.status = status;
  }

  /** What a watch of NodeHolds is to be handed to. */
  get handlers() {
    return {
      onReplace: (objects: ObservedNodeHold[]) => {
        const before = this.#known && !this.#isChanging ? new Map(this.#objects) : undefined;
        this.#objects.clear();
        for (const object of objects) this.#objects.set(object.name, object);
        this.#known = true;
        const isSame =
          before?.size === objects.length && objects.every((each) => isSameButStatus(before.get(each.name), each));
        if (!isSame) this.#told();
      },
      onUpsert: (object: ObservedNodeHold) => {
        const before = this.#objects.get(object.name);
        this.#objects.set(object.name, object);
        if (!isSameButStatus(before, object)) this.#changes();
      },
      onDelete: ({ name }: ObservedNodeHold) => {
        if (this.#objects.delete(name)) this.#changes();
      },
      onLost: () => {
        this.#known = false;
      },
    };
  }
}

function isHeldBy({ pods }: ObservedNodeHold, { namespace, labels }: HoldingPod): boolean {
  return pods !== undefined && pods.namespace === namespace && selects(pods.selector, labels);
}
