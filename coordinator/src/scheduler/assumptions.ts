import type { Clock } from '@rollcall/common/clock.ts';

/** As long as kube-scheduler waits for what a binding needs, such as a volume, unless told otherwise (`bindTimeout`). */
const ASSUMED_MS = 600_000;
const PODS_MAX = 10_000;

type Assumption = { node: string; untilMs: number };

/**
 * Where pods will be that were given a node a moment ago and are not yet seen there. Without it, all pods of a burst are
 * sent to the node that was best before the first of them.
 *
 * That a pod is not scheduled, as its condition `PodScheduled` says, does not end it: this may be said of an earlier
 * attempt, and stands there until the pod has a node.
 */
export class Assumptions {
  readonly #clock: Clock;
  /** By pod, the oldest first. */
  readonly #pods = new Map<string, Assumption>();
  readonly #counts = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  assume(pod: string, node: string): void {
    this.drop(pod);
    const [oldest] = this.#pods.keys();
    if (oldest !== undefined && this.#pods.size >= PODS_MAX) this.drop(oldest);
    this.#pods.set(pod, { node, untilMs: this.#clock.monotonic() + ASSUMED_MS });
    this.#counts.set(node, (this.#counts.get(node) ?? 0) + 1);
  }

  /** The pod has a node, is gone, or asks again. */
  drop(pod: string): void {
    const assumption = this.#pods.get(pod);
    if (!assumption) return;
    this.#pods.delete(pod);
    const left = (this.#counts.get(assumption.node) ?? 0) - 1;
    if (left > 0) this.#counts.set(assumption.node, left);
    else this.#counts.delete(assumption.node);
  }

  /** How many pods are on their way to which nodes; where none is, there is no entry. Good until the next call. */
  counts(): ReadonlyMap<string, number> {
    this.#expire();
    return this.#counts;
  }

  /** Where a pod is assumed to be on its way to. */
  nodeOf(pod: string): string | undefined {
    return this.#pods.get(pod)?.node;
  }

  clear(): void {
    this.#pods.clear();
    this.#counts.clear();
  }

  #expire(): void {
    const now = this.#clock.monotonic();
    for (const [pod, { untilMs }] of this.#pods) {
      if (untilMs > now) return;
      this.drop(pod);
    }
  }
}
